package launcher

import (
	"context"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/master/elastic"
	"github.com/det-deploy/det-deploy/master/store"
)

// The ledger is three kinds of documents, each with its pool as parent: calls
// without an answer, machines that are not gone, and those that are.

func launchDocs() store.Collection[elastic.Launch] {
	return store.Collection[elastic.Launch]{Kind: "launcher_launch"}
}

func machineDocs() store.Collection[elastic.Machine] {
	return store.Collection[elastic.Machine]{Kind: "launcher_machine"}
}

func endedDocs() store.Collection[endedDoc] {
	return store.Collection[endedDoc]{Kind: "launcher_ended"}
}

// endedDoc is a machine that is gone.
type endedDoc struct {
	elastic.Machine
	Ended time.Time `json:"ended"`
}

// dirt is what memory knows and the store does not.
type dirt struct {
	launches map[string]bool
	machines map[cloud.InstanceID]bool
	ended    map[cloud.InstanceID]endedDoc
}

func newDirt() dirt {
	return dirt{
		launches: make(map[string]bool), machines: make(map[cloud.InstanceID]bool),
		ended: make(map[cloud.InstanceID]endedDoc),
	}
}

func (d dirt) clean() bool { return len(d.launches)+len(d.machines)+len(d.ended) == 0 }

// storeWait bounds one write; a store that is out of reach must not keep the
// loop from stopping.
const storeWait = 10 * time.Second

// flush writes down what has changed, in one transaction. Nothing is asked of
// the platform before it is written.
func (p *Launcher) flush(ctx context.Context) error {
	if p.dirt.clean() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	if err := p.cfg.Store.Write(ctx, p.entries()); err != nil {
		return fmt.Errorf("write the launch ledger: %w", err)
	}
	for token := range p.dirt.launches {
		if p.fleet.Launches[token] != nil {
			p.written[token] = true
		}
	}
	p.dirt = newDirt()
	return nil
}

// entries is what is to be written, as values: a write that is given up on may
// still be carried out.
func (p *Launcher) entries() func(tx *store.Tx) error {
	var all []func(tx *store.Tx) error
	name := p.pool.Name
	for token := range p.dirt.launches {
		if l := p.fleet.Launches[token]; l != nil {
			doc := *l
			all = append(all, func(tx *store.Tx) error { return launchDocs().Put(tx, token, name, doc.At, doc) })
		} else {
			all = append(all, func(tx *store.Tx) error { return launchDocs().Delete(tx, token) })
		}
	}
	for id := range p.dirt.machines {
		if m := p.fleet.Machines[id]; m != nil {
			doc := *m
			all = append(all, func(tx *store.Tx) error { return machineDocs().Put(tx, key(name, id), name, doc.Launched, doc) })
		} else {
			all = append(all, func(tx *store.Tx) error { return machineDocs().Delete(tx, key(name, id)) })
		}
	}
	for id, doc := range p.dirt.ended {
		all = append(all, func(tx *store.Tx) error { return endedDocs().Put(tx, key(name, id), name, doc.Ended, doc) })
	}
	return func(tx *store.Tx) error {
		for _, put := range all {
			if err := put(tx); err != nil {
				return err
			}
		}
		return nil
	}
}

// key is a machine's name in the store: platforms name theirs alone.
func key(pool string, id cloud.InstanceID) string { return pool + "/" + string(id) }

// restore reads what an earlier launcher of the pool has written.
func (p *Launcher) restore(ctx context.Context) error {
	launches, err := launchDocs().ByParent(ctx, p.cfg.Store, p.pool.Name)
	if err != nil {
		return err
	}
	machines, err := machineDocs().ByParent(ctx, p.cfg.Store, p.pool.Name)
	if err != nil {
		return err
	}
	ended, err := endedDocs().After(ctx, p.cfg.Store, time.Now().Add(-elastic.Memory))
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, d := range launches {
		l := d.Value
		p.fleet.Launches[l.Token], p.written[l.Token] = &l, true
		p.retry[l.Token] = retry{doubt: true}
	}
	for _, d := range machines {
		m := d.Value
		p.fleet.Machines[m.ID] = &m
	}
	for _, d := range ended {
		if d.Parent == p.pool.Name {
			p.fleet.Gone[d.Value.ID] = d.Value.Ended
		}
	}
	p.fleet.Resume(time.Now())
	return nil
}
