package experiment

import (
	"context"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/store"
)

// takeExternalID makes an external id the experiment's, in the transaction that stores it.
func takeExternalID(tx *store.Tx, x record.Experiment) error {
	if x.ExternalID == "" {
		return nil
	}
	return record.Docs().External.Put(tx, x.ExternalID, "", time.Time{}, x.ID)
}

// createCalled is Create of an order with an external id: of programs that begin at the same time, one creates the
// experiment, and the others find it.
func (c *creations) createCalled(ctx context.Context, o Order) (Created, error) {
	if err := checkExternalID(o.ExternalID); err != nil {
		return Created{}, err
	}
	c.external.Lock()
	defer c.external.Unlock()
	e, found, err := c.sameOrder(ctx, o)
	switch {
	case err != nil:
		return Created{}, err
	case !found:
		return c.createNew(ctx, o)
	}
	x, original, err := loadConfig(ctx, c.cfg.Store, e.id)
	return Created{View: c.viewOf(e.snapshot(), nil), Settings: Settings{Config: asChanged(x, e.snapshot()).Show(), Original: original}}, err
}

// sameOrder is an experiment that was made of the same order before.
func (c *creations) sameOrder(ctx context.Context, o Order) (*entry, bool, error) {
	d, found, err := record.Docs().External.Get(ctx, c.cfg.Store, o.ExternalID)
	if err != nil || !found {
		return nil, false, err
	}
	e, err := c.adopt(ctx, d.Value)
	if err != nil {
		return nil, false, err
	}
	x := e.snapshot()
	if err := checkAllowed(o.By, x, "report to"); err != nil {
		return nil, false, fmt.Errorf("external id %q: %w", excerpt.Of(o.ExternalID), err)
	}
	if x.State == lifecycle.Deleting || x.State == lifecycle.DeleteFailed {
		return nil, false, status.New(status.FailedPrecondition, "external id %q: experiment %d has it, which is being deleted (%s)", excerpt.Of(o.ExternalID), x.ID, x.State)
	}
	return e, true, nil
}

// adopt is an experiment that is stored. One whose transaction was not known to have succeeded is not in
// memory yet. The caller holds external.
func (c *creations) adopt(ctx context.Context, id int32) (*entry, error) {
	if e, err := c.reg.find(id); err == nil {
		return e, nil
	}
	x, err := load(ctx, c.cfg.Store, id)
	if err != nil {
		return nil, err
	}
	e := &entry{id: id, rec: new(x.Record)}
	if isOpen(x.Record) {
		e.open = x
	}
	c.addLoaded(e)
	return e, nil
}
