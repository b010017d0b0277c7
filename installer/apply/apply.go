// Package apply executes a plan. It runs each step after the steps it needs, several concurrently,
// and reports events. All decisions are made by package plan.
package apply

import (
	"context"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer/event"
	"github.com/det-deploy/det-deploy/installer/plan"
	"github.com/det-deploy/det-deploy/internal/wait"
)

// Defaults of Config.
const (
	// DefaultParallel is below the burst of changing calls that the strictest platform allows (EC2:
	// 5 RunInstances at once, 50 other changes).
	DefaultParallel = 16
	// DefaultSettle limits the wait for an object to appear in a list when its creation may have
	// succeeded. EC2's lists usually lag a few seconds.
	DefaultSettle = 15 * time.Second
	// DefaultStepLimit limits one step. The slowest single call of any platform creates a managed
	// database.
	DefaultStepLimit = 30 * time.Minute
)

// Journal records creations before they are requested. Run always calls Intend, even without IDs.
// Meanwhile it creates resources with fixed names, which can be found without the journal; all
// other changes wait until Intend has returned.
type Journal interface {
	Intend(ctx context.Context, ids ...string) (map[string]resource.Intent, error)
	Renew(ctx context.Context, ids ...string) (map[string]resource.Intent, error)
	Settle(ctx context.Context, ids ...string) error
	Forget(ctx context.Context, ids ...string) error
}

// Config configures Run. Journal and Target are required.
type Config struct {
	Journal Journal
	Target  resource.Target
	// Check returns an error if the lease is lost. It is called before every step.
	Check func(context.Context) error
	// Note reports the current action, for users who wait for the lease.
	Note func(action string)
	Emit event.Sink
	// Later receives the function that records the outcome of the creations, after all steps. If it
	// is nil, Run calls that function itself before it returns.
	Later func(settle func() error)

	Parallel  int
	Settle    time.Duration
	StepLimit time.Duration
}

// Run executes p. If a step fails, Run skips the steps that need it and continues with the others;
// if ctx is cancelled, it finishes the running steps and starts no others. It returns all errors
// joined in an Error. To continue, make a new plan and run that.
func Run(ctx context.Context, p plan.Plan, c Config) error {
	if err := p.Refusal(); err != nil {
		return err
	}
	r := &run{Config: c.withDefaults(), outcome: make(map[string]bool), recorded: make(chan struct{})}
	r.Emit = event.Serial(c.Emit)
	r.jobs = jobsOf(p)
	walk, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		defer close(r.recorded)
		if r.intendErr = r.recordIntents(ctx, p); r.intendErr != nil {
			stop()
		}
	}()
	errs := plan.Walk(walk, nodesOf(r.jobs), r.Parallel, r.visitJob)
	<-r.recorded
	if r.intendErr != nil {
		return joinErrors(ctx, r.jobs, errs, r.intendErr)
	}
	settle := func() error {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		return r.closeIntents(closing, p)
	}
	if err := joinErrors(ctx, r.jobs, errs, nil); err != nil || c.Later == nil {
		return joinErrors(ctx, r.jobs, errs, settle())
	}
	c.Later(settle)
	return nil
}

func (c Config) withDefaults() Config {
	if c.Parallel <= 0 {
		c.Parallel = DefaultParallel
	}
	if c.Settle <= 0 {
		c.Settle = DefaultSettle
	}
	if c.StepLimit <= 0 {
		c.StepLimit = DefaultStepLimit
	}
	if c.Check == nil {
		c.Check = func(context.Context) error { return nil }
	}
	if c.Note == nil {
		c.Note = func(string) {}
	}
	return c
}

// visitJob runs one job and reports its events. When ctx is cancelled, the job finishes its current
// call but ends its waits.
func (r *run) visitJob(ctx context.Context, i int) error {
	j := r.jobs[i]
	if !j.isNamed() {
		if <-r.recorded; r.intendErr != nil {
			return plan.ErrNotTried
		}
	}
	start := time.Now()
	e := event.Event{Type: event.Started, Scope: event.Step, Subject: j.step.ID, Verb: string(j.verb), Total: len(r.jobs)}
	r.Emit.Emit(e)
	r.Note(string(j.verb) + " " + j.step.ID)
	ctx, cancel := context.WithTimeout(wait.Outlive(ctx), r.StepLimit)
	defer cancel()
	ctx = resource.WithTell(ctx, func(what string) { r.emitProgress(j, what) })
	err := r.Check(ctx)
	if err == nil {
		err = r.runJob(ctx, j)
	}
	e.Took, e.Ended = time.Since(start).Milliseconds(), r.countDone()
	e.Type = event.Done
	if err != nil {
		err = &StepError{Verb: j.verb, ID: j.step.ID, Err: err}
		e = e.Fail(err)
	}
	r.Emit.Emit(e)
	return err
}

func (r *run) emitProgress(j job, what string) {
	r.Emit.Emit(event.Event{Type: event.Progress, Scope: event.Step, Subject: j.step.ID, Verb: string(j.verb), Message: what, Total: len(r.jobs)})
}

func (r *run) runJob(ctx context.Context, j job) error {
	switch j.verb {
	case plan.Create:
		return r.createResource(ctx, j)
	case plan.Update:
		return repeatDoubtful(func() error { return j.step.Resource.(resource.Updater).Update(ctx, j.step.Diff) })
	case plan.Delete:
		if j.step.Resource == nil {
			return repeatDoubtful(func() error { return ignoreNotFound(r.Target.Remove(ctx, j.step.Found)) })
		}
		return repeatDoubtful(func() error { return ignoreNotFound(j.step.Resource.Delete(ctx)) })
	case plan.Replace, plan.Keep, plan.Refuse:
	}
	panic(fmt.Sprintf("apply: %s is no job", j.verb))
}
