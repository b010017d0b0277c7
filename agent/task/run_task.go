package task

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/agent/health"
	"github.com/det-deploy/det-deploy/agent/lifecycle"
	"github.com/det-deploy/det-deploy/internal/wait"
)

const (
	// retryPause is the delay before retrying a failed call of a runtime or a disk operation.
	retryPause = time.Second
	// logPatience limits reading the output of an exited container. Then the exit is reported
	// without the rest.
	logPatience = 30 * time.Second
	// cleanPatience limits the removal of one container.
	cleanPatience = time.Minute
)

// errEndWanted is returned by a start that was canceled.
var errEndWanted = errors.New("it was stopped before it started")

// Live runs the task. It returns nil when the task has been forgotten and everything is removed, or
// the context's error, which leaves the container for the next agent.
func (u *Task) Live(ctx context.Context) error {
	life, cancel := u.beginLife(ctx)
	defer cancel()
	u.runToEnd(life)
	<-life.Done()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return u.cleanUp(ctx)
}

// beginLife returns a context that ends with ctx, or when the task is forgotten.
func (u *Task) beginLife(ctx context.Context) (context.Context, context.CancelFunc) {
	life, cancel := context.WithCancel(ctx)
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.endLife = cancel; u.forgotten {
		cancel()
	}
	return life, cancel
}

// runToEnd runs the container until it exits.
func (u *Task) runToEnd(ctx context.Context) {
	if u.View().State.State == lifecycle.Terminated {
		return
	}
	exit, err := u.startAndWatch(ctx)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		u.cfg.Failed(err)
		exit = NotStarted(err)
	}
	exit = u.orSilenced(exit)
	u.advanceTo(lifecycle.Terminated, &exit, nil)
}

// startAndWatch starts the container, or finds it, and waits until it exits. It returns an error if
// the container never ran.
func (u *Task) startAndWatch(ctx context.Context) (lifecycle.Exit, error) {
	status, err := u.inspectContainer(ctx)
	if err != nil {
		return lifecycle.Exit{}, err
	}
	if status.Phase == container.Absent || status.Phase == container.Created {
		status, err = u.startOnce(ctx)
		if errors.Is(err, container.ErrGone) {
			return lifecycle.Exit{Kind: lifecycle.Lost, Message: err.Error()}, nil
		}
		if err != nil {
			return lifecycle.Exit{}, err
		}
	}
	u.advanceTo(lifecycle.Running, nil, status.Addresses)
	return u.watchContainer(ctx), nil
}

// NotStarted returns the exit of a container that never ran.
func NotStarted(err error) lifecycle.Exit {
	if health.LackOf(err) != "" {
		return lifecycle.Exit{Kind: lifecycle.NotStarted, Message: health.Explain(err), NotHere: true}
	}
	return lifecycle.Exit{Kind: lifecycle.NotStarted, Message: err.Error()}
}

// inspectContainer retries until the runtime answers, because a restart of the Docker daemon must
// not fail a container. It returns an error without retrying if the runtime was never asked to
// start the container.
func (u *Task) inspectContainer(ctx context.Context) (container.Status, error) {
	for {
		s, err := u.cfg.Runtime.Inspect(ctx, u.ID())
		if err == nil || ctx.Err() != nil || !u.mayHaveStarted() && health.LackOf(err) != "" {
			return s, err
		}
		u.cfg.Failed(err)
		u.Log.Warn("cannot inspect container; retrying", "err", err)
		if err := wait.For(ctx, retryPause); err != nil {
			return s, err
		}
	}
}

// startOnce starts the container unless it was canceled. It returns ErrGone if the container ran
// before and no longer exists.
func (u *Task) startOnce(ctx context.Context) (container.Status, error) {
	h, err := u.cfg.Host(ctx)
	if err != nil {
		return container.Status{}, err
	}
	if u.hasRun() {
		return container.Status{}, container.ErrGone
	}
	sctx, cancel := context.WithCancel(ctx)
	defer cancel()
	u.mu.Lock()
	u.giveUp = cancel
	u.mu.Unlock()
	err = u.startContainer(sctx, h)
	u.mu.Lock()
	u.giveUp = nil
	u.mu.Unlock()
	if err == nil {
		u.cfg.Started()
		if !h.Docker && len(u.Order.GetSpec().GetPorts()) == 0 { // a plain process only has addresses for its ports
			return container.Status{Phase: container.Running}, nil
		}
		return u.inspectContainer(ctx)
	}
	u.cfg.Failed(err) // now, because the next steps may wait for the runtime
	if _, certain := errors.AsType[*container.NeverRanError](err); certain || !u.mayHaveStarted() {
		return container.Status{}, u.orEndWanted(err)
	}
	// A canceled start may have succeeded anyway.
	s, ierr := u.inspectContainer(ctx)
	if ierr == nil && (s.Phase == container.Running || s.Phase == container.Ended) {
		return s, nil
	}
	return s, u.orEndWanted(err)
}

// orEndWanted returns errEndWanted if the container was asked to stop, else err.
func (u *Task) orEndWanted(err error) error {
	if u.endWanted() {
		return errEndWanted
	}
	return err
}

func (u *Task) startContainer(ctx context.Context, h Host) error {
	if u.endWanted() {
		return errEndWanted
	}
	if reason := refuseOrder(u.Order, h); reason != "" {
		return errors.New(reason)
	}
	real, err := u.cfg.Guard.Resolve(u.Order.GetSpec())
	if err == nil {
		err = makeStorage(real)
	}
	if err != nil {
		return err
	}
	u.advanceTo(lifecycle.Pulling, nil, nil)
	spec := specOf(u.Order, h)
	if err := spec.Validate(); err != nil {
		return err
	}
	if u.Order.GetSpec().GetContext() {
		files, err := u.fetchFiles(ctx)
		if err != nil {
			return fmt.Errorf("fetch the context directory: %w", err)
		}
		defer func() { _ = files.Close() }() // it is read only
		spec.Files = append(spec.Files, files.list...)
	}
	if err := u.cfg.Runtime.Prepare(ctx, spec, u.logNote); err != nil {
		return err
	}
	// A path may have changed its target while the image was pulled.
	if real, err = u.cfg.Guard.Resolve(u.Order.GetSpec()); err != nil {
		return err
	}
	spec.Mounts, spec.Devices = mountsOf(real.GetMounts()), devicesOf(real.GetDevices())
	u.advanceTo(lifecycle.Starting, nil, nil)
	u.setAsked()
	return u.cfg.Runtime.Start(ctx, spec)
}

// logNote writes a line of the agent to the container's log.
func (u *Task) logNote(text string) {
	if err := u.Journal.Note(time.Now(), text); err != nil {
		u.Log.Warn("cannot write to the container's log", "err", err, "text", text)
		return
	}
	u.cfg.Changed(u.ID())
}

// watchContainer copies the output of a running container, stops it on request, and waits for the
// end of both the container and its output.
func (u *Task) watchContainer(ctx context.Context) lifecycle.Exit {
	stop := u.beginEnforcing(ctx)
	defer stop()
	err := u.copyLogs(ctx)
	exit := u.waitForEnd(ctx)
	if err != nil && ctx.Err() == nil {
		exit.Message = joinMessages(exit.Message, "its output could not be read completely: "+err.Error())
	}
	return exit
}

// waitForEnd retries until the runtime returns the exit of the container.
func (u *Task) waitForEnd(ctx context.Context) lifecycle.Exit {
	for {
		code, err := u.cfg.Runtime.Wait(ctx, u.ID())
		switch {
		case ctx.Err() != nil:
			return lifecycle.Exit{}
		case err == nil:
			return lifecycle.Exit{Kind: lifecycle.Exited, Code: code}
		case errors.Is(err, container.ErrGone):
			return lifecycle.Exit{Kind: lifecycle.Lost, Message: err.Error()}
		}
		u.Log.Warn("cannot wait for container; retrying", "err", err)
		if wait.For(ctx, retryPause) != nil {
			return lifecycle.Exit{}
		}
	}
}

// copyLogs copies the output to the journal, starting at the journal's position, until the
// container has exited and its output is complete. It gives up if that fails for logPatience after
// the exit.
func (u *Task) copyLogs(ctx context.Context) error {
	var giveUp time.Time
	keep := &backlog{journal: u.Journal, most: unsentBytes}
	for {
		err := u.cfg.Runtime.Logs(ctx, u.ID(), u.Journal.Position(), func(lines []container.Line) error {
			if err := keep.appendLines(lines); err != nil {
				return err
			}
			u.cfg.Changed(u.ID())
			return nil
		})
		if said := keep.noteDropped(); err == nil {
			err = said
		}
		if err == nil || ctx.Err() != nil || errors.Is(err, container.ErrGone) || !giveUp.IsZero() && time.Now().After(giveUp) {
			return err
		}
		u.Log.Warn("cannot copy the output of container; retrying", "err", err)
		if giveUp.IsZero() && u.hasEnded(ctx) {
			giveUp = time.Now().Add(logPatience)
		}
		if wait.For(ctx, retryPause) != nil {
			return err
		}
	}
}

// hasEnded reports whether the container has exited; false if the runtime does not answer.
func (u *Task) hasEnded(ctx context.Context) bool {
	s, err := u.cfg.Runtime.Inspect(ctx, u.ID())
	return err == nil && s.Phase != container.Running
}

// cleanUp removes the container and its files on disk.
func (u *Task) cleanUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, cleanPatience)
	defer cancel()
	for {
		err := u.removeContainer(ctx)
		if err == nil {
			// Close first, because Remove deletes its file.
			return errors.Join(u.Journal.Close(), u.entry.Remove())
		}
		u.Log.Warn("cannot remove container; retrying", "err", err)
		if wait.For(ctx, retryPause) != nil {
			return err
		}
	}
}

func (u *Task) removeContainer(ctx context.Context) error {
	if !u.cfg.Keep {
		return u.cfg.Runtime.Remove(ctx, u.ID())
	}
	return u.cfg.Runtime.Signal(ctx, u.ID(), container.Kill)
}

func joinMessages(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}
