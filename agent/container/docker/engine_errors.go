package docker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/client"
	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/container"
)

const (
	// answerTimeout is the timeout of a short request to the engine.
	answerTimeout = 20 * time.Second
	// watchInterval is the interval between pings during a long request.
	watchInterval = 10 * time.Second
)

// translateError classifies an error of the engine's client. Errors that reject a request are the
// task's, because such messages end with text from the task.
func translateError(err error) error {
	switch {
	case err == nil:
		return nil
	case client.IsErrConnectionFailed(err):
		return fmt.Errorf("%w: %w", container.ErrNoAnswer, err)
	case cerrdefs.IsNotFound(err), cerrdefs.IsInvalidArgument(err), cerrdefs.IsConflict(err), cerrdefs.IsPermissionDenied(err):
		return err
	}
	if p, ok := errors.AsType[*pullError](err); ok && !p.isEngines() {
		return err
	}
	if machine := container.MachineError(err.Error()); machine != nil {
		return &shortError{err, machine}
	}
	return err
}

// shortError is an error of the engine and the error that it represents.
type shortError struct{ engine, means error }

func (e *shortError) Error() string   { return e.engine.Error() }
func (e *shortError) Unwrap() []error { return []error{e.engine, e.means} }

// pullError is an error of an image pull. Most of its text may come from the image's registry,
// which may belong to the task's owner. Such a text begins with the engine's request or with a
// registry's error code.
type pullError struct{ error }

func (e *pullError) Unwrap() error { return e.error }

// isEngines reports whether the error is from the engine's own disk operations.
func (e *pullError) isEngines() bool {
	text := strings.TrimPrefix(e.Error(), "Error response from daemon: ")
	return slices.ContainsFunc(enginesOwn(), func(begin string) bool { return strings.HasPrefix(text, begin) })
}

// enginesOwn returns the prefixes of such errors, for Docker's image store and containerd's.
func enginesOwn() []string {
	return []string{
		"failed to register layer: ", "write /", "open /", "mkdir /", "fork/exec /",
		"failed to extract layer ", "failed to prepare extraction snapshot ", "failed to copy: failed to send write: ",
	}
}

// askSoon calls the engine with answerTimeout.
func askSoon(ctx context.Context, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTimeout, container.ErrNoAnswer)
	defer cancel()
	return withCause(ctx, ask(ctx))
}

// askWatched calls the engine without a timeout, as long as the engine answers pings meanwhile.
func (r *Runtime) askWatched(ctx context.Context, ask func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		r.watchEngine(ctx, cancel)
	}()
	err := withCause(ctx, ask(ctx))
	cancel(nil)
	<-watching
	return err
}

func (r *Runtime) watchEngine(ctx context.Context, giveUp context.CancelCauseFunc) {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := r.Answers(ctx); err != nil && ctx.Err() == nil {
			giveUp(fmt.Errorf("%w: %w", container.ErrNoAnswer, err))
			return
		}
	}
}

// withCause adds the cause of a canceled request to its error.
func withCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, container.ErrNoAnswer) {
		return fmt.Errorf("%w (%w)", cause, err)
	}
	return translateError(err)
}

// Answers returns an error if the engine does not answer or its disk is full; the engine may use
// another disk than the agent. An inaccessible disk is ignored.
func (r *Runtime) Answers(ctx context.Context) error {
	err := askSoon(ctx, func(ctx context.Context) error {
		_, err := r.api.Ping(ctx, client.PingOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("ping the Docker Engine: %w", err)
	}
	var st unix.Statfs_t
	if r.root != "" && unix.Statfs(r.root, &st) == nil && st.Blocks > 0 && st.Bavail == 0 {
		return fmt.Errorf("directory %s of the Docker Engine: %w", r.root, unix.ENOSPC)
	}
	return nil
}
