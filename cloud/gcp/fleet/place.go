package fleet

import (
	"context"
	"slices"

	"github.com/det-deploy/det-deploy/cloud"
)

// place is the location of an instance.
type place struct {
	zone string
	// listed reports whether the instance was listed before: it no longer exists once a list lacks
	// it.
	listed bool
}

// rememberPlaces records the zones of instances, so that they can be terminated without a list.
func (f *Fleet) rememberPlaces(machines []cloud.Instance, listed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range machines {
		if f.places[m.ID] == nil {
			f.places[m.ID] = &place{zone: m.Zone}
		}
		f.places[m.ID].listed = f.places[m.ID].listed || listed
	}
}

// Restore implements cloud.Restorer.
func (f *Fleet) Restore(machines []cloud.Instance) { f.rememberPlaces(machines, false) }

// forgetMissing removes the records of instances that were listed before and no longer exist.
func (f *Fleet) forgetMissing(machines []cloud.Instance) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, p := range f.places {
		if p.listed && !slices.ContainsFunc(machines, func(m cloud.Instance) bool { return m.ID == id }) {
			delete(f.places, id)
			delete(f.ends, id)
		}
	}
}

// findZones returns the zones of instances. It lists the pool if a zone is unknown; an instance
// that is not listed does not exist or does not belong to the pool.
func (f *Fleet) findZones(ctx context.Context, ids []cloud.InstanceID) (map[cloud.InstanceID]string, error) {
	out, whole := f.knownZones(ids)
	if whole {
		return out, nil
	}
	all, err := f.listMachines(ctx)
	if err != nil {
		return nil, err
	}
	for _, i := range all {
		m := f.toInstance(i)
		out[m.ID] = m.Zone
	}
	return out, nil
}

func (f *Fleet) knownZones(ids []cloud.InstanceID) (zones map[cloud.InstanceID]string, whole bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	zones, whole = make(map[cloud.InstanceID]string), true
	for _, id := range ids {
		if p := f.places[id]; p != nil {
			zones[id] = p.zone
		}
		whole = whole && zones[id] != ""
	}
	return zones, whole
}
