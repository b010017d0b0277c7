package docker

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/client"
	"golang.org/x/sys/unix"
)

// entered is a directory with a file for each program that has entered a container, named after the
// engine's ID of the program. If the agent is killed, nobody holds the other ends of the program's streams,
// and the next agent ends it. Without a directory nothing is noted.
type entered string

// note adds a program. It does nothing on a full disk, which somebody may enter the container to clean up.
func (e entered) note(id string) {
	if e != "" {
		_ = os.MkdirAll(string(e), 0o700)
		_ = os.WriteFile(e.file(id), nil, 0o600)
	}
}

// forget removes a program that has ended. If it stays, the next agent sees that it has ended.
func (e entered) forget(id string) {
	if e != "" {
		_ = os.Remove(e.file(id))
	}
}

func (e entered) file(id string) string { return filepath.Join(string(e), filepath.Base(id)) }

// enteredTimeout limits how long a new agent ends programs, in all.
const enteredTimeout = 20 * time.Second

// endEntered ends the programs that an earlier agent started in its containers. One that cannot be ended
// now is left to the next agent, and ends with its container.
func (r *Runtime) endEntered(ctx context.Context) error {
	if r.opts.Entered == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, enteredTimeout)
	defer cancel()
	files, err := os.ReadDir(r.opts.Entered)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, f := range files {
		if err := r.endProgram(ctx, f.Name()); err != nil {
			errs = append(errs, err)
			continue
		}
		entered(r.opts.Entered).forget(f.Name())
	}
	return errors.Join(errs...)
}

// endProgram kills a program and what it left in its session. It is no error if either is gone.
func (r *Runtime) endProgram(ctx context.Context, id string) error {
	e := &execution{r: r, id: id}
	state, err := e.inspect(ctx)
	if err != nil {
		return unlessGone(err)
	}
	c, err := r.api.ContainerInspect(ctx, state.ContainerID, client.ContainerInspectOptions{})
	if err != nil {
		return unlessGone(err)
	}
	e.container = c.Container
	return e.signal(ctx, unix.SIGKILL)
}

// unlessGone returns nil for the error of a program or container that does not exist, or has ended.
func unlessGone(err error) error {
	if cerrdefs.IsNotFound(err) || cerrdefs.IsConflict(err) {
		return nil
	}
	return err
}
