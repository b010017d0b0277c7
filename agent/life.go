package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/agent/health"
	"github.com/det-deploy/det-deploy/agent/lifecycle"
	"github.com/det-deploy/det-deploy/delay"
)

const (
	// retryPause is between two tries of what a runtime or a disk refused.
	retryPause = time.Second
	// logPatience is how long the output of an ended container is tried to
	// be read before its end is reported without the rest.
	logPatience = 30 * time.Second
	// cleanPatience bounds the removal of one container.
	cleanPatience = time.Minute
)

// errUnwanted ends a start.
var errUnwanted = errors.New("it was ended before it had started")

// live is the unit's life. It returns nil when the unit is to be forgotten
// and everything of it is gone, or the context's error, which leaves the
// container as it is for the next agent.
func (u *unit) live(ctx context.Context) error {
	life, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		u.run(life)
	}()
	select {
	case <-ctx.Done():
	case <-u.forget:
	}
	cancel()
	<-done
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return u.cleanUp(ctx)
}

// run brings the container to its end.
func (u *unit) run(ctx context.Context) {
	if u.view().state.State == lifecycle.Terminated {
		return
	}
	exit, err := u.toTheEnd(ctx)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		u.failed(err)
		exit = notStarted(err)
	}
	exit = u.silenced(exit)
	u.advance(lifecycle.Terminated, &exit, nil)
}

// toTheEnd starts or finds the container and stays with it. The error is why
// it never ran.
func (u *unit) toTheEnd(ctx context.Context) (lifecycle.Exit, error) {
	status, err := u.inspect(ctx)
	if err != nil {
		return lifecycle.Exit{}, err
	}
	if status.Phase == container.Absent || status.Phase == container.Created {
		status, err = u.begin(ctx)
		if errors.Is(err, container.ErrGone) {
			return lifecycle.Exit{Kind: lifecycle.Lost, Message: err.Error()}, nil
		}
		if err != nil {
			return lifecycle.Exit{}, err
		}
	}
	u.advance(lifecycle.Running, nil, status.Addresses)
	return u.attend(ctx), nil
}

// notStarted is the end of a container that never ran.
func notStarted(err error) lifecycle.Exit {
	if health.LackOf(err) != "" {
		return lifecycle.Exit{Kind: lifecycle.NotStarted, Message: health.Explain(err), NotHere: true}
	}
	return lifecycle.Exit{Kind: lifecycle.NotStarted, Message: err.Error()}
}

// inspect asks until the runtime answers: a daemon that restarts is no reason
// to give a container up. One that was never asked to start it need not be waited for.
func (u *unit) inspect(ctx context.Context) (container.Status, error) {
	for {
		s, err := u.runtime.Inspect(ctx, u.id())
		if err == nil || ctx.Err() != nil || !u.mayHaveStarted() && health.LackOf(err) != "" {
			return s, err
		}
		u.failed(err)
		u.log.Warn("cannot inspect container, trying again", "err", err)
		if err := delay.For(ctx, retryPause); err != nil {
			return s, err
		}
	}
}

// begin starts the container, unless it is unwanted by then. The error is
// ErrGone for one that ran before and is no longer there.
func (u *unit) begin(ctx context.Context) (container.Status, error) {
	h, err := u.host(ctx)
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
	err = u.start(sctx, h)
	u.mu.Lock()
	u.giveUp = nil
	u.mu.Unlock()
	if err == nil {
		u.started()
		return u.inspect(ctx)
	}
	u.failed(err) // now: what follows may wait for the runtime
	if _, certain := errors.AsType[*container.NeverRanError](err); certain || !u.mayHaveStarted() {
		return container.Status{}, u.orUnwanted(err)
	}
	// A start that was cut short may have happened all the same.
	s, ierr := u.inspect(ctx)
	if ierr == nil && (s.Phase == container.Running || s.Phase == container.Ended) {
		return s, nil
	}
	return s, u.orUnwanted(err)
}

// orUnwanted is why a start failed: what was asked for goes first.
func (u *unit) orUnwanted(err error) error {
	if u.unwanted() {
		return errUnwanted
	}
	return err
}

func (u *unit) start(ctx context.Context, h host) error {
	if u.unwanted() {
		return errUnwanted
	}
	if reason := refuseOrder(u.order, h); reason != "" {
		return errors.New(reason)
	}
	if _, err := u.guard.Resolve(u.order.GetSpec()); err != nil {
		return err
	}
	u.advance(lifecycle.Pulling, nil, nil)
	spec := specOf(u.order, h)
	if err := spec.Validate(); err != nil {
		return err
	}
	if u.order.GetSpec().GetContext() {
		files, err := u.fetch(ctx, u.order, h)
		if err != nil {
			return fmt.Errorf("fetch the context directory: %w", err)
		}
		spec.Files = append(spec.Files, files...)
	}
	if err := u.runtime.Prepare(ctx, spec, u.note); err != nil {
		return err
	}
	// While the image was pulled a path may have come to lead elsewhere.
	real, err := u.guard.Resolve(u.order.GetSpec())
	if err != nil {
		return err
	}
	spec.Mounts, spec.Devices = mountsOf(real.GetMounts()), devicesOf(real.GetDevices())
	if err := u.secure(); err != nil {
		return err
	}
	u.advance(lifecycle.Starting, nil, nil)
	u.asking()
	return u.runtime.Start(ctx, spec)
}

// note puts a sentence of the agent's into the container's log.
func (u *unit) note(text string) {
	if err := u.journal.Note(time.Now(), text); err != nil {
		u.log.Warn("cannot write to the container's log", "err", err, "text", text)
		return
	}
	u.changed()
}

// attend reads the output of a running container, ends it when asked to, and
// waits for both its end and that of its output.
func (u *unit) attend(ctx context.Context) lifecycle.Exit {
	actx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan struct{})
	logs := make(chan error, 1)
	enforced := make(chan struct{})
	go func() { logs <- u.copyLogs(actx, ended) }()
	go func() {
		defer close(enforced)
		u.enforce(actx, ended)
	}()
	exit := u.wait(ctx)
	close(ended)
	<-enforced
	if err := <-logs; err != nil && ctx.Err() == nil {
		exit.Message = join(exit.Message, "its output could not be read to the end: "+err.Error())
	}
	return exit
}

// wait asks until the runtime knows how the container ended.
func (u *unit) wait(ctx context.Context) lifecycle.Exit {
	for {
		code, err := u.runtime.Wait(ctx, u.id())
		switch {
		case ctx.Err() != nil:
			return lifecycle.Exit{}
		case err == nil:
			return lifecycle.Exit{Kind: lifecycle.Exited, Code: code}
		case errors.Is(err, container.ErrGone):
			return lifecycle.Exit{Kind: lifecycle.Lost, Message: err.Error()}
		}
		u.log.Warn("cannot wait for container, trying again", "err", err)
		if delay.For(ctx, retryPause) != nil {
			return lifecycle.Exit{}
		}
	}
}

// copyLogs copies the output to the journal, from where the journal ends.
func (u *unit) copyLogs(ctx context.Context, ended <-chan struct{}) error {
	var patience <-chan time.Time
	keep := &backlog{journal: u.journal, most: u.unsent}
	for {
		err := u.runtime.Logs(ctx, u.id(), u.journal.Position(), func(lines []container.Line) error {
			if err := keep.append(lines); err != nil {
				return err
			}
			u.changed()
			return nil
		})
		if said := keep.say(); err == nil {
			err = said
		}
		if err == nil || ctx.Err() != nil || errors.Is(err, container.ErrGone) {
			return err
		}
		u.log.Warn("cannot copy the output of container, trying again", "err", err)
		timer := time.NewTimer(retryPause)
		select {
		case <-patience:
			timer.Stop()
			return err
		case <-ended:
			ended, patience = nil, time.After(logPatience)
		case <-timer.C:
		}
		timer.Stop()
	}
}

// enforce carries out the wish that the container end.
func (u *unit) enforce(ctx context.Context, ended <-chan struct{}) {
	asked := false
	for {
		u.mu.Lock()
		terminate, killAt := u.state.Terminate, u.state.KillAtMicros
		u.mu.Unlock()
		var timer <-chan time.Time
		switch now := time.Now().UnixMicro(); {
		case killAt != 0 && now >= killAt:
			timer = u.signal(ctx, container.Kill)
		case terminate && !asked:
			timer = u.signal(ctx, container.Terminate)
			if asked = timer == nil; asked {
				continue
			}
		case killAt != 0:
			timer = time.After(time.Duration(killAt-now) * time.Microsecond)
		}
		select {
		case <-ctx.Done():
			return
		case <-ended:
			return
		case <-u.poke:
		case <-timer:
		}
	}
}

// signal sends one, and returns when to try again if that failed.
func (u *unit) signal(ctx context.Context, s container.Signal) <-chan time.Time {
	u.log.Info("ending container", "signal", string(s))
	if err := u.runtime.Signal(ctx, u.id(), s); err != nil && ctx.Err() == nil {
		u.log.Warn("cannot signal container, trying again", "err", err)
		return time.After(retryPause)
	}
	return nil
}

// cleanUp removes the container and what is on disk of it.
func (u *unit) cleanUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, cleanPatience)
	defer cancel()
	for {
		err := u.remove(ctx)
		if err == nil {
			return u.entry.Remove()
		}
		u.log.Warn("cannot remove container, trying again", "err", err)
		if delay.For(ctx, retryPause) != nil {
			return err
		}
	}
}

func (u *unit) remove(ctx context.Context) error {
	if !u.keep {
		return u.runtime.Remove(ctx, u.id())
	}
	return u.runtime.Signal(ctx, u.id(), container.Kill)
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}
