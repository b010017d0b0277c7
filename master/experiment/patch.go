package experiment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/experiment/change"
	"github.com/det-deploy/det-deploy/master/experiment/config"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
)

// Patch lists the changes that a user requests. Fields that are nil stay unchanged.
type Patch struct {
	Name, Description, Notes *string
	Labels                   *[]string
	Priority                 *int
	Weight                   *float64
	// MaxSlots is used if SetMaxSlots is true; nil means no limit.
	SetMaxSlots bool
	MaxSlots    *int
	Pool        *string
	// Keep is the new retention of checkpoints.
	Keep *Keep
}

// Keep is the number of checkpoints that a policy keeps.
type Keep struct{ ExperimentBest, TrialBest, TrialLatest int }

// The limits of priorities, as in Determined 0.38.1, and of log retention in days.
const (
	highestPriority, lowestPriority = 1, 99
	mostLogDays                     = 32767
)

// Patch changes an experiment, which may be running. It returns the errors of Ask, or
// InvalidArgument.
func (r *requests) Patch(ctx context.Context, by *apiv1.User, id int32, p Patch) (View, error) {
	e, err := r.reg.find(id)
	if err != nil {
		return View{}, err
	}
	if err := p.validate(); err != nil {
		return View{}, err
	}
	if p.Priority != nil || p.Weight != nil || p.SetMaxSlots || p.Pool != nil {
		if err := refuseElsewhere(e.snapshot(), "change the resources of", "they use no slots and have no priority"); err != nil {
			return View{}, err
		}
	}
	if p.Keep != nil {
		if err := refuseElsewhere(e.snapshot(), "change the policy for checkpoints of", "delete the files where they are stored"); err != nil {
			return View{}, err
		}
	}
	if p.Pool != nil {
		if err := r.checkPool(by, e.snapshot(), *p.Pool); err != nil {
			return View{}, err
		}
	}
	if _, err := r.limitChange(by, e.snapshot(), rm.Change{Priority: p.Priority, Pool: p.Pool}); err != nil {
		return View{}, err
	}
	if p.Weight != nil {
		if err := r.checkWeight(ctx, by, e.snapshot(), *p.Weight); err != nil {
			return View{}, err
		}
	}
	err = r.ask(ctx, by, e, demand{verb: "change", light: p.Keep == nil, do: func(_ context.Context, tx *store.Tx, d *change.Draft) error {
		words := p.apply(d)
		if len(words) == 0 {
			return nil
		}
		d.Requests().Change(strings.Join(words, ", "))
		if p.Keep != nil && !isOpen(d.Record) {
			return r.cfg.Checkpoints.Collect(tx, id)
		}
		return nil
	}})
	if err != nil {
		if p.Weight != nil { // the scheduler already has the new weight
			err = errors.Join(err, r.tellWeight(ctx, e.snapshot(), e.snapshot().Queue.Weight))
		}
		return View{}, err
	}
	if p.Keep != nil {
		r.cfg.Checkpoints.Wake()
	}
	return r.viewOf(e.snapshot(), e), nil
}

// limitChange adds the limit of the user's task policy to a change of an experiment's job.
func (s *shared) limitChange(by *apiv1.User, x record.Experiment, c rm.Change) (rm.Change, error) {
	return s.cfg.Tasks.LimitChange(by, x.Queue.Pool, x.Queue.Priority, c)
}

// checkPool returns an error if the trials cannot run in the pool.
func (r *requests) checkPool(by *apiv1.User, x record.Experiment, pool string) error {
	space, err := r.workspaceOf(x.ProjectID)
	if err != nil {
		return err
	}
	_, err = r.cfg.Tasks.Place(by, space, pool, &x.Queue.Slots)
	return err
}

// checkWeight sets the weight in the scheduler before it is stored. The Kubernetes scheduler does
// not support weights, and a stored weight would be rejected on every attempt.
func (r *requests) checkWeight(ctx context.Context, by *apiv1.User, x record.Experiment, weight float64) error {
	if err := checkAllowed(by, x, "change"); err != nil || weight == x.Queue.Weight {
		return err
	}
	err := r.tellWeight(ctx, x, weight)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrUnavailable), errors.Is(err, store.ErrOutcomeUnknown), errors.Is(err, store.ErrFull):
		return err
	}
	return status.New(status.InvalidArgument, "%v", err)
}

// tellWeight sets the weight of the job in the scheduler, if the scheduler has the job.
func (r *requests) tellWeight(ctx context.Context, x record.Experiment, weight float64) error {
	err := r.cfg.Tasks.Change(ctx, rm.JobID(x.JobID), rm.Change{Weight: &weight})
	if errors.Is(err, rm.ErrUnknownJob) {
		return nil
	}
	return err
}

func (p Patch) validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(p.Name == nil || *p.Name != "", "name: must not be empty")
	errs = append(errs, config.Texts{Name: p.Name, Description: p.Description, Notes: p.Notes, Labels: p.Labels}.Check().Err())
	if p.Priority != nil {
		check(*p.Priority >= highestPriority && *p.Priority <= lowestPriority, "resources.priority: must be from %d to %d (is %d)", highestPriority, lowestPriority, *p.Priority)
	}
	if p.Weight != nil {
		errs = append(errs, config.CheckWeight("resources.weight", *p.Weight).Err())
	}
	if p.MaxSlots != nil {
		check(*p.MaxSlots >= 0, "resources.max_slots: must be at least 0 (is %d)", *p.MaxSlots)
	}
	if k := p.Keep; k != nil {
		check(min(k.ExperimentBest, k.TrialBest, k.TrialLatest) >= 0, "checkpoint_storage: numbers of checkpoints to keep must be at least 0")
	}
	if err := errors.Join(errs...); err != nil {
		return status.New(status.InvalidArgument, "%v", err)
	}
	return nil
}

// apply changes a draft and returns a description of each change.
func (p Patch) apply(d *change.Draft) []string {
	x := &d.Record
	words := slices.Concat(
		setText("name", &x.Name, p.Name), setText("description", &x.Description, p.Description), setText("notes", &x.Notes, p.Notes),
		setText("resource_pool", &x.Queue.Pool, p.Pool), set("priority", &x.Queue.Priority, p.Priority), set("weight", &x.Queue.Weight, p.Weight),
	)
	if p.Labels != nil && !slices.Equal(x.Labels, *p.Labels) {
		x.Labels = slices.Clone(*p.Labels)
		words = append(words, fmt.Sprintf("labels: %q", x.Labels))
	}
	if p.SetMaxSlots && !equal(x.Queue.MaxSlots, p.MaxSlots) {
		x.Queue.MaxSlots = p.MaxSlots
		words = append(words, "max_slots: "+describeLimit(p.MaxSlots))
	}
	if p.Keep != nil {
		c := d.Settings()
		keepIn(&c, *p.Keep)
		d.Config = &c
		words = append(words, fmt.Sprintf("save_experiment_best: %d, save_trial_best: %d, save_trial_latest: %d", p.Keep.ExperimentBest, p.Keep.TrialBest, p.Keep.TrialLatest))
	}
	return words
}

func keepIn(c *config.Experiment, k Keep) {
	s := &c.CheckpointStorage
	s.SaveExperimentBest, s.SaveTrialBest, s.SaveTrialLatest = &k.ExperimentBest, &k.TrialBest, &k.TrialLatest
}

func setText(name string, field, value *string) []string {
	if value == nil || *field == *value {
		return nil
	}
	*field = *value
	return []string{name}
}

func set[T comparable](name string, field, value *T) []string {
	if value == nil || *field == *value {
		return nil
	}
	*field = *value
	return []string{fmt.Sprintf("%s: %v", name, *value)}
}

func equal[T comparable](a, b *T) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

func describeLimit(n *int) string {
	if n == nil {
		return "no limit"
	}
	return fmt.Sprint(*n)
}

func checkLabels(labels ...string) error {
	if err := (config.Texts{Labels: &labels}).Check().Err(); err != nil {
		return status.New(status.InvalidArgument, "%v", err)
	}
	return nil
}

// SetLabel adds or removes a label and returns all labels. It returns the errors of Ask, or
// InvalidArgument.
func (r *requests) SetLabel(ctx context.Context, by *apiv1.User, id int32, label string, has bool) ([]string, error) {
	e, err := r.reg.find(id)
	if err != nil {
		return nil, err
	}
	if err := checkLabels(label); has && err != nil {
		return nil, err
	}
	err = r.ask(ctx, by, e, demand{verb: "label", light: true, do: func(_ context.Context, _ *store.Tx, d *change.Draft) error {
		switch found := slices.Contains(d.Record.Labels, label); {
		case has && !found:
			d.Record.Labels = append(slices.Clone(d.Record.Labels), label)
			if err := checkLabels(d.Record.Labels...); err != nil {
				return err
			}
			d.Requests().Change("label " + label + " added")
		case !has && found:
			d.Record.Labels = slices.DeleteFunc(slices.Clone(d.Record.Labels), func(l string) bool { return l == label })
			d.Requests().Change("label " + label + " removed")
		}
		return nil
	}})
	return e.snapshot().Labels, err
}

// RetainLogs sets the log retention of all trials in days; -1 keeps logs forever. It returns the
// errors of Ask, or InvalidArgument.
func (r *requests) RetainLogs(ctx context.Context, by *apiv1.User, id int32, days int) error {
	e, err := r.reg.find(id)
	if err != nil {
		return err
	}
	if err := checkDays(days); err != nil {
		return err
	}
	return r.ask(ctx, by, e, demand{verb: "change", do: func(_ context.Context, _ *store.Tx, d *change.Draft) error {
		d.Record.LogDays, d.Record.TrialLogDays = &days, false
		d.Requests().RetainLogs(days)
		d.Requests().Change(fmt.Sprintf("log_retention_days: %d", days))
		return nil
	}})
}

// RetainTrialLogs sets the log retention of one trial.
func (r *requests) RetainTrialLogs(ctx context.Context, by *apiv1.User, trial int32, days int) error {
	if err := checkDays(days); err != nil {
		return err
	}
	return r.changeTrial(ctx, trial, by.GetUsername(), func(_ context.Context, _ *store.Tx, d *change.Draft, _ record.Trial) error {
		if err := checkAllowed(by, d.Record, "change"); err != nil {
			return err
		}
		d.Requests().RetainLogs(days, trial)
		d.Record.TrialLogDays = true
		return nil
	})
}

func checkDays(days int) error {
	if days < -1 || days > mostLogDays {
		return status.New(status.InvalidArgument, "log_retention_days: must be from -1, which keeps logs forever, to %d (is %d)", mostLogDays, days)
	}
	return nil
}

// changeQueue applies a change of the job in the queue.
func (s *shared) changeQueue(ctx context.Context, by *apiv1.User, e *entry, c rm.Change) error {
	r := requests{s}
	p := Patch{Priority: c.Priority, Weight: c.Weight, Pool: c.Pool}
	if c.MaxSlots != nil {
		p.SetMaxSlots = true
		if *c.MaxSlots > 0 {
			p.MaxSlots = c.MaxSlots
		}
	}
	if _, err := r.Patch(ctx, by, e.id, p); err != nil {
		return err
	}
	if c.AheadOf == nil && c.BehindOf == nil {
		return nil
	}
	return s.moveJob(ctx, by, e, rm.Change{AheadOf: c.AheadOf, BehindOf: c.BehindOf})
}

// moveJob moves the job next to another one. Only the scheduler stores the position.
func (s *shared) moveJob(ctx context.Context, by *apiv1.User, e *entry, c rm.Change) error {
	c, err := s.limitChange(by, e.snapshot(), c)
	if err != nil {
		return err
	}
	err = s.cfg.Tasks.Change(ctx, rm.JobID(e.snapshot().JobID), c)
	if _, forbidden := errors.AsType[*rm.PriorityError](err); forbidden {
		return status.New(status.PermissionDenied, "%v", err)
	}
	if err != nil {
		return status.New(status.InvalidArgument, "%v", err)
	}
	return nil
}
