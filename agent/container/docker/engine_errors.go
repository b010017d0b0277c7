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
	// answerTimeout is how long an engine may take to answer a small question.
	answerTimeout = 20 * time.Second
	// watchInterval is how often it is asked one while it carries out a large one.
	watchInterval = 10 * time.Second
)

// shortOf is how the engine tells that its machine has run out of something: in the
// last words of its text. For the last two it must be the engine that could not start a
// program: a task with little memory may meet them too.
var shortOf = []struct {
	err   error
	where string
}{
	{unix.ENOSPC, ""},
	{unix.EDQUOT, ""},
	{unix.EMFILE, ""},
	{unix.ENFILE, ""},
	{unix.ENOMEM, "fork/exec "},
	{unix.EAGAIN, "fork/exec "},
}

// translateError turns an error of the engine's client into one that says whose fault it is. What
// the engine refuses is the task's fault: such texts end with words of the task's.
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
	text := strings.TrimSuffix(err.Error(), ": unknown") // containerd's word for an error without a kind
	for _, s := range shortOf {
		if strings.Contains(text, s.where) && strings.HasSuffix(text, ": "+s.err.Error()) {
			return &shortError{err, s.err}
		}
	}
	return err
}

// shortError is an error of the engine in its own words, and what they mean.
type shortError struct{ engine, means error }

func (e *shortError) Error() string   { return e.engine.Error() }
func (e *shortError) Unwrap() []error { return []error{e.engine, e.means} }

// pullError is why an image could not be pulled. Most of what it may say is the word of the
// image's registry, which the task's owner may run: such a text begins with what the
// engine asked for, or with a registry's code.
type pullError struct{ error }

func (e *pullError) Unwrap() error { return e.error }

// isEngines says that the text is of the engine's own work on its disk, as it begins.
func (e *pullError) isEngines() bool {
	text := strings.TrimPrefix(e.Error(), "Error response from daemon: ")
	return slices.ContainsFunc(enginesOwn(), func(begin string) bool { return strings.HasPrefix(text, begin) })
}

// enginesOwn is how such texts begin, with Docker's own store of images and containerd's.
func enginesOwn() []string {
	return []string{
		"failed to register layer: ", "write /", "open /", "mkdir /", "fork/exec /",
		"failed to extract layer ", "failed to prepare extraction snapshot ", "failed to copy: failed to send write: ",
	}
}

// askSoon asks the engine something that it must answer soon.
func askSoon(ctx context.Context, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTimeout, container.ErrNoAnswer)
	defer cancel()
	return withCause(ctx, ask(ctx))
}

// askWatched asks the engine something that may take long, for as long as it answers
// small questions meanwhile.
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

// withCause adds why a request was cancelled to its error.
func withCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, container.ErrNoAnswer) {
		return fmt.Errorf("%w (%w)", cause, err)
	}
	return translateError(err)
}

// Answers asks the engine whether it is there, and whether its disk has room: images
// and containers need not be on the agent's own. A disk that cannot be looked at from
// here is the engine's affair.
func (r *Runtime) Answers(ctx context.Context) error {
	err := askSoon(ctx, func(ctx context.Context) error {
		_, err := r.api.Ping(ctx, client.PingOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("ask the docker engine whether it is there: %w", err)
	}
	var st unix.Statfs_t
	if r.root != "" && unix.Statfs(r.root, &st) == nil && st.Blocks > 0 && st.Bavail == 0 {
		return fmt.Errorf("the docker engine's directory %s: %w", r.root, unix.ENOSPC)
	}
	return nil
}
