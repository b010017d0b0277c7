package launcher

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/master/elastic"
	"github.com/det-deploy/det-deploy/master/store"
)

// The ledger consists of four kinds of documents, each with its pool as parent: unanswered launches,
// machines that are present, machines that are gone, and offers without capacity.

func launchDocs() store.Collection[elastic.Launch] {
	return store.Collection[elastic.Launch]{Kind: "launcher_launch"}
}

func machineDocs() store.Collection[elastic.Machine] {
	return store.Collection[elastic.Machine]{Kind: "launcher_machine"}
}

func endedDocs() store.Collection[endedDoc] {
	return store.Collection[endedDoc]{Kind: "launcher_ended"}
}

// scarceDocs are offers that lacked capacity, by pool and offer.
func scarceDocs() store.Collection[scarceDoc] {
	return store.Collection[scarceDoc]{Kind: "launcher_scarce"}
}

// scarceDoc is an offer that lacked capacity, and when.
type scarceDoc struct {
	Offer cloud.Offer `json:"offer"`
	At    time.Time   `json:"at"`
}

// endedDoc is a machine that is gone.
type endedDoc struct {
	elastic.Machine
	Ended time.Time `json:"ended"`
}

// ledger is the stored state of a pool's launcher. Used by run only.
type ledger struct {
	store   *store.Store
	pool    string
	written map[string]bool // launches that are stored
	scarce  map[cloud.Offer]time.Time
	unsaved unsaved
}

func newLedger(s *store.Store, pool string) *ledger {
	return &ledger{store: s, pool: pool, written: make(map[string]bool), unsaved: newUnsaved()}
}

// unsaved marks the changes that are not stored yet.
type unsaved struct {
	launches map[string]bool
	machines map[cloud.InstanceID]bool
	ended    map[cloud.InstanceID]endedDoc
}

func newUnsaved() unsaved {
	return unsaved{
		launches: make(map[string]bool), machines: make(map[cloud.InstanceID]bool),
		ended: make(map[cloud.InstanceID]endedDoc),
	}
}

func (u unsaved) isEmpty() bool { return len(u.launches)+len(u.machines)+len(u.ended) == 0 }

// storeWait is the timeout of one write. An unreachable store must not keep the loop from stopping.
const storeWait = 10 * time.Second

// saveChanges stores all changes in one transaction. Platform calls are made only after that.
func (d *ledger) saveChanges(ctx context.Context, f *elastic.Fleet) error {
	if d.unsaved.isEmpty() && maps.Equal(d.scarce, f.Scarce) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	if err := d.store.Write(ctx, d.collectWrites(f)); err != nil {
		return fmt.Errorf("write the launch ledger: %w", err)
	}
	for token := range d.unsaved.launches {
		if f.Launches[token] != nil {
			d.written[token] = true
		}
	}
	d.unsaved, d.scarce = newUnsaved(), maps.Clone(f.Scarce)
	return nil
}

// collectWrites returns a function that writes copies of the changed values: it may still run after the
// caller has given up on the write.
func (d *ledger) collectWrites(f *elastic.Fleet) func(tx *store.Tx) error {
	var all []func(tx *store.Tx) error
	name := d.pool
	for token := range d.unsaved.launches {
		if l := f.Launches[token]; l != nil {
			doc := *l
			all = append(all, func(tx *store.Tx) error { return launchDocs().Put(tx, token, name, doc.At, doc) })
		} else {
			all = append(all, func(tx *store.Tx) error { return launchDocs().Delete(tx, token) })
		}
	}
	for id := range d.unsaved.machines {
		if m := f.Machines[id]; m != nil {
			doc := *m
			all = append(all, func(tx *store.Tx) error { return machineDocs().Put(tx, machineKey(name, id), name, doc.Launched, doc) })
		} else {
			all = append(all, func(tx *store.Tx) error { return machineDocs().Delete(tx, machineKey(name, id)) })
		}
	}
	for id, doc := range d.unsaved.ended {
		all = append(all, func(tx *store.Tx) error { return endedDocs().Put(tx, machineKey(name, id), name, doc.Ended, doc) })
	}
	all = append(all, d.collectScarce(f)...)
	return func(tx *store.Tx) error {
		for _, put := range all {
			if err := put(tx); err != nil {
				return err
			}
		}
		return nil
	}
}

// collectScarce returns the writes for offers whose scarcity has changed.
func (d *ledger) collectScarce(f *elastic.Fleet) (all []func(tx *store.Tx) error) {
	name := d.pool
	for o, at := range f.Scarce {
		if !d.scarce[o].Equal(at) {
			all = append(all, func(tx *store.Tx) error { return scarceDocs().Put(tx, offerKey(name, o), name, at, scarceDoc{o, at}) })
		}
	}
	for o := range d.scarce {
		if _, still := f.Scarce[o]; !still {
			all = append(all, func(tx *store.Tx) error { return scarceDocs().Delete(tx, offerKey(name, o)) })
		}
	}
	return all
}

// offerKey returns the key of an offer in the store.
func offerKey(pool string, o cloud.Offer) string {
	return strings.Join([]string{pool, o.Type, o.Zone, string(o.Price)}, "/")
}

// machineKey returns the key of a machine in the store. Machine ids are unique within a platform only.
func machineKey(pool string, id cloud.InstanceID) string { return pool + "/" + string(id) }

// restoreRecords reads the records of an earlier launcher of the pool.
func (s *state) restoreRecords(ctx context.Context) error {
	launches, err := launchDocs().ByParent(ctx, s.cfg.Store, s.pool.Name)
	if err != nil {
		return err
	}
	machines, err := machineDocs().ByParent(ctx, s.cfg.Store, s.pool.Name)
	if err != nil {
		return err
	}
	scarce, err := scarceDocs().ByParent(ctx, s.cfg.Store, s.pool.Name)
	if err != nil {
		return err
	}
	ended, err := endedDocs().After(ctx, s.cfg.Store, time.Now().Add(-elastic.Memory))
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range launches {
		l := d.Value
		s.fleet.Launches[l.Token], s.ledger.written[l.Token] = &l, true
	}
	for _, d := range machines {
		m := d.Value
		s.fleet.Machines[m.ID] = &m
	}
	s.ledger.scarce = make(map[cloud.Offer]time.Time)
	for _, d := range scarce {
		s.ledger.scarce[d.Value.Offer] = d.Value.At
	}
	s.fleet.RestoreScarce(s.ledger.scarce, time.Now())
	for _, d := range ended {
		if d.Parent == s.pool.Name {
			s.fleet.Gone[d.Value.ID] = d.Value.Ended
		}
	}
	s.fleet.Resume(time.Now())
	return nil
}
