package experiment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	masterconfig "github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/experiment/change"
	"github.com/det-deploy/det-deploy/master/experiment/config"
	"github.com/det-deploy/det-deploy/master/experiment/definition"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/quota"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/workspace"
)

// Order is a request to create an experiment.
type Order struct {
	By *apiv1.User
	// Config is YAML. Template is the name of a template that is merged below it, or empty.
	Config, Template string
	// Project overrides the project in the configuration if it is not 0.
	Project int32
	// Parent is the experiment whose files are copied if Files is empty, or 0.
	Parent int32
	// Activate starts the experiment; otherwise it is created paused.
	Activate bool
	// ValidateOnly validates the order without storing anything.
	ValidateOnly bool
	Files        []*apiv1.File
	// Contents returns the contents of the files, which then have none themselves. It may be nil.
	Contents func(file int) (io.Reader, int64)
	// Context is the ID of a context that By has sent before, instead of Files, or empty.
	Context string
	// Unmanaged experiments run outside the cluster. A repeated order with the same ExternalID
	// returns the existing experiment.
	Unmanaged  bool
	ExternalID string
}

// Created is the result of an accepted order.
type Created struct {
	// View has no ID if the order was only validated.
	View     View
	Settings Settings
	Warnings []string
}

// creations creates experiments.
type creations struct {
	*shared

	external sync.Mutex // held while looking up and storing an experiment with an external ID
}

// Create creates an experiment and returns after it is stored with its first trials. It returns
// InvalidArgument, NotFound, PermissionDenied, FailedPrecondition or ResourceExhausted, or
// Unavailable if the cluster cannot run tasks yet.
func (c *creations) Create(ctx context.Context, o Order) (Created, error) {
	if o.ExternalID != "" {
		return c.createCalled(ctx, o)
	}
	return c.createNew(ctx, o)
}

func (c *creations) createNew(ctx context.Context, o Order) (Created, error) {
	p, err := c.planExperiment(ctx, o)
	if err != nil {
		return Created{}, err
	}
	if err := c.checkCount(o); err != nil {
		return Created{}, err
	}
	if err := c.cfg.Quota.Check(storerOf(p.record), 0); err != nil {
		return Created{}, err
	}
	if !o.ValidateOnly {
		if err := c.storeExperiment(ctx, o, &p); err != nil {
			return Created{}, err
		}
	}
	return Created{View: c.viewOf(p.record, nil), Settings: Settings{Config: p.config.Show(), Original: p.original}, Warnings: p.record.Warnings}, nil
}

// checkCount returns an error if the user has too many unmanaged experiments, because these use no
// slots and stay in memory.
func (c *creations) checkCount(o Order) error {
	if !o.Unmanaged {
		return nil
	}
	have := 0
	for _, e := range c.reg.all() {
		if x := e.stored(); x.Unmanaged && x.UserID == o.By.GetId() {
			have++
		}
	}
	return workspace.CheckCount(o.By, have, "unmanaged experiments")
}

// plan is a validated experiment that is not stored yet.
type plan struct {
	record   record.Experiment
	config   config.Experiment
	original string
}

// storeExperiment stores an experiment with its files and its first trials. It stores the files
// first. If the experiment cannot be stored, it deletes them; if that fails as well, the next start
// of the master does.
func (c *creations) storeExperiment(ctx context.Context, o Order, p *plan) error {
	var err error
	if err := c.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		p.record.ID, err = nextID(ctx, tx, "experiment")
		return err
	}); err != nil {
		return fmt.Errorf("assign an ID to the experiment: %w", err)
	}
	if !o.Unmanaged {
		p.config.CheckpointStorage = p.config.CheckpointStorage.InOwnDirectory(newDirectory(p.record.ID))
	}
	if err = c.saveFiles(ctx, o, &p.record); err == nil {
		err = c.cfg.Quota.Check(storerOf(p.record), p.record.ModelBytes)
	}
	if err == nil {
		err = c.writeExperiment(ctx, p)
	}
	if err != nil && !errors.Is(err, store.ErrOutcomeUnknown) {
		drop := c.cfg.Store.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error { return definition.Delete(tx, p.record.ID) })
		if drop != nil {
			c.cfg.Log.Warn("cannot delete the files of an experiment that was not stored; the next start deletes them", "experiment_id", p.record.ID, "err", drop)
		}
	}
	return err
}

// newDirectory returns the name of the experiment's directory in a shared_fs storage.
func newDirectory(experiment int32) string {
	return masterconfig.OwnDirectory(experiment, uuid.NewString()[:8])
}

// saveFiles stores the files of an experiment, or determines the context that it will claim.
func (c *creations) saveFiles(ctx context.Context, o Order, x *record.Experiment) (err error) {
	switch {
	case o.Context != "":
		x.Context = o.Context
		return nil
	case len(o.Files) > 0 || o.Parent == 0:
		x.ModelBytes, err = definition.Save(ctx, c.cfg.Store, x.ID, o.Files, o.Contents)
		return err
	}
	e, err := c.reg.find(o.Parent)
	if err != nil {
		return err
	}
	parent := e.snapshot()
	if parent.Context != "" {
		x.Context, err = c.cfg.Contexts.Copy(ctx, holderOf(parent.ID), o.By)
		return err
	}
	x.ModelBytes = parent.ModelBytes
	return definition.Copy(ctx, c.cfg.Store, o.Parent, x.ID, x.ModelBytes)
}

// writeExperiment stores the experiment and its first trials in one transaction.
func (c *creations) writeExperiment(ctx context.Context, p *plan) error {
	stored, err := newConfig(p.original, p.config)
	if err != nil {
		return err
	}
	x, err := change.Load(p.record, p.config, nil, nil)
	if err != nil {
		return status.New(status.InvalidArgument, "%v", err)
	}
	var d *change.Draft
	err = c.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		if _, err := c.cfg.Places.OpenProject(ctx, tx, p.record.ProjectID); err != nil {
			return err
		}
		if err := takeExternalID(tx, p.record); err != nil {
			return err
		}
		docs, key := record.Docs(), record.Key(p.record.ID)
		if err := docs.Configs.Put(tx, key, "", time.Time{}, stored); err != nil {
			return err
		}
		d = x.Draft(p.record.Started, func() (int32, error) { return nextID(ctx, tx, "trial") })
		d.Begin(p.record.Username)
		if err := d.Requests().Start(); err != nil {
			return err
		}
		d.Seal()
		c.cfg.Quota.Add(tx, p.record.UserID, quota.Definitions, p.record.ModelBytes)
		return errors.Join(c.claimContext(ctx, tx, p.record), c.storeDraft(ctx, tx, d))
	})
	if err != nil {
		return err
	}
	x.Publish(d)
	p.record = x.Record
	c.reg.add(&entry{id: x.Record.ID, rec: new(x.Record), open: x})
	c.dirty.wake(x.Record.ID)
	return nil
}

// newRecord returns the record of a submitted experiment.
func newRecord(o Order, x config.Experiment, at time.Time) record.Experiment {
	state := lifecycle.Paused
	if o.Activate || o.Unmanaged {
		state = lifecycle.Active
	}
	r := record.Experiment{
		State: state, Name: *x.Name, Labels: x.Labels, UserID: o.By.GetId(), Username: o.By.GetUsername(),
		JobID: uuid.NewString(), Started: at, ForkedFrom: o.Parent, Unmanaged: o.Unmanaged, ExternalID: o.ExternalID,
		Queue: queueOf(x), LogDays: x.Retention.LogDays,
		Searcher: record.Searcher{Name: *x.Searcher.Name, Metric: *x.Searcher.Metric, SmallerIsBetter: *x.Searcher.SmallerIsBetter},
	}
	if x.Description != nil {
		r.Description = *x.Description
	}
	return r
}

// queueOf returns the scheduling settings of a configuration.
func queueOf(x config.Experiment) record.Queue {
	q := record.Queue{Slots: *x.Resources.SlotsPerTrial, MaxSlots: x.Resources.MaxSlots, Weight: 1}
	if x.Resources.Priority != nil {
		q.Priority = *x.Resources.Priority
	}
	if x.Resources.Weight != nil {
		q.Weight = *x.Resources.Weight
	}
	if x.Resources.ResourcePool != nil {
		q.Pool = *x.Resources.ResourcePool
	}
	return q
}

// takeExternalID assigns an external ID to the experiment, in the transaction that stores it.
func takeExternalID(tx *store.Tx, x record.Experiment) error {
	if x.ExternalID == "" {
		return nil
	}
	return record.Docs().External.Put(tx, x.ExternalID, "", time.Time{}, x.ID)
}

// createCalled creates an experiment with an external ID. If several programs start at the same
// time, the first creates the experiment and the others find it.
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

// sameOrder returns the experiment with the external ID of the order, and false if the ID is unused.
// It returns an error if the user may not use that experiment or it is being deleted.
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
		return nil, false, status.New(status.FailedPrecondition, "external id %q: it belongs to experiment %d, which is being deleted (%s)", excerpt.Of(o.ExternalID), x.ID, x.State)
	}
	return e, true, nil
}

// adopt returns a stored experiment and loads it if it is not in memory, which happens if the
// outcome of its transaction was unknown. The caller holds external.
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
