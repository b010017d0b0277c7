package launcher

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/det-deploy/det-deploy/cloud"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/elastic"
	"github.com/det-deploy/det-deploy/master/store"
)

const (
	// historyLife is the time that terminated machines are shown: a quarter of a year, in which bills
	// are disputed.
	historyLife = 90 * 24 * time.Hour
	// pruneEvery is the interval at which older ones are deleted.
	pruneEvery = 12 * time.Hour
)

// History returns the machines of a pool, present and gone, newest first. An empty name selects all
// pools.
func (l *Launchers) History(ctx context.Context, pool string) ([]*apiv1.Machine, error) {
	ended, err := endedDocs().All(ctx, l.cfg.Store)
	if err != nil {
		return nil, fmt.Errorf("read the machines of resource pool %q: %w", pool, err)
	}
	var out []*apiv1.Machine
	for _, d := range ended {
		if pool == "" || d.Parent == pool {
			m := apiMachine(d.Parent, d.Value.Machine)
			m.State, m.EndTime = string(elastic.Gone), timestamppb.New(d.Value.Ended)
			out = append(out, m)
		}
	}
	left, err := l.listLeft(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the machines of resource pool %q: %w", pool, err)
	}
	for _, d := range left {
		if pool == "" || d.Parent == pool {
			m := apiMachine(d.Parent, d.Value)
			m.Cause, m.Reason = string(elastic.CausePoolGone), "its pool no longer launches machines; check on its platform whether the machine still exists"
			out = append(out, m)
		}
	}
	for _, name := range l.poolNames() {
		if pool == "" || name == pool {
			out = append(out, l.pools[name].listMachines()...)
		}
	}
	slices.SortStableFunc(out, func(a, b *apiv1.Machine) int {
		return cmp.Or(b.GetLaunchTime().AsTime().Compare(a.GetLaunchTime().AsTime()), cmp.Compare(a.GetId(), b.GetId()))
	})
	return out, nil
}

// listLeft returns the machines without a launcher, because their pool or its provider was removed from
// the configuration.
func (l *Launchers) listLeft(ctx context.Context) ([]store.Doc[elastic.Machine], error) {
	all, err := machineDocs().All(ctx, l.cfg.Store)
	return slices.DeleteFunc(all, func(d store.Doc[elastic.Machine]) bool { return l.pools[d.Parent] != nil }), err
}

// Ended records the end of a machine without a launcher. It returns an error if the pool still has a
// launcher, and nil if the machine is unknown.
func (l *Launchers) Ended(ctx context.Context, pool string, id cloud.InstanceID, reason string) error {
	if l.pools[pool] != nil {
		return fmt.Errorf("write the end of machine %s: it is managed by resource pool %q", id, pool)
	}
	doc, found, err := machineDocs().Get(ctx, l.cfg.Store, machineKey(pool, id))
	if err != nil || !found {
		return err
	}
	now, m := time.Now(), doc.Value
	m.State, m.Cause, m.Reason, m.Since = elastic.Gone, elastic.CausePoolGone, reason, now
	return l.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		if err := machineDocs().Delete(tx, doc.ID); err != nil {
			return err
		}
		return endedDocs().Put(tx, doc.ID, pool, now, endedDoc{Machine: m, Ended: now})
	})
}

func (s *state) listMachines() []*apiv1.Machine {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]*apiv1.Machine, 0, len(s.fleet.Machines))
	for _, m := range s.fleet.Machines {
		out = append(out, apiMachine(s.pool.Name, *m))
	}
	return out
}

func apiMachine(pool string, m elastic.Machine) *apiv1.Machine {
	out := &apiv1.Machine{
		Id: string(m.ID), ResourcePool: pool, State: string(m.State),
		InstanceType: m.Offer.Type, Zone: cmp.Or(m.Zone, m.Offer.Zone), Price: string(m.Offer.Price),
		LaunchTime: timestamppb.New(m.Launched), Cause: string(m.Cause), Reason: m.Reason,
	}
	if !m.Joined.IsZero() {
		out.JoinTime = timestamppb.New(m.Joined)
	}
	if !m.Accepted.IsZero() {
		out.EndTime = timestamppb.New(m.Accepted)
	}
	return out
}

// pruneHistory periodically deletes records older than historyLife until ctx is done.
func (l *Launchers) pruneHistory(ctx context.Context) {
	tick := time.NewTicker(pruneEvery)
	defer tick.Stop()
	for {
		if err := l.pruneBefore(ctx, time.Now().Add(-historyLife)); err != nil && ctx.Err() == nil {
			l.cfg.Log.Warn("cannot delete old machine records", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (l *Launchers) pruneBefore(ctx context.Context, at time.Time) error {
	old, err := endedDocs().Before(ctx, l.cfg.Store, at)
	if err != nil {
		return err
	}
	left, err := l.listLeft(ctx)
	if err != nil {
		return err
	}
	left = slices.DeleteFunc(left, func(d store.Doc[elastic.Machine]) bool { return !d.Value.Launched.Before(at) })
	if len(old)+len(left) == 0 {
		return nil
	}
	return l.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		for _, d := range old {
			if err := endedDocs().Delete(tx, d.ID); err != nil {
				return err
			}
		}
		for _, d := range left {
			if err := machineDocs().Delete(tx, d.ID); err != nil {
				return err
			}
		}
		return nil
	})
}
