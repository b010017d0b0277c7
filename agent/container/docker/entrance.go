package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"

	cerrdefs "github.com/containerd/errdefs"
	engine "github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/agent/container/inside"
	"github.com/det-deploy/det-deploy/internal/stream"
)

var _ container.Entrance = (*Runtime)(nil)

// Dial connects to a port in the network namespace of the container, or of the machine for a container
// that shares it. An agent that may not enter it connects through a program in the container.
func (r *Runtime) Dial(ctx context.Context, id string, port int) (net.Conn, error) {
	c, err := r.inspectRunning(ctx, id)
	if err != nil {
		return nil, err
	}
	conn, err := dialFromOutside(ctx, c, port)
	if !errors.Is(err, fs.ErrPermission) && !errors.Is(err, errElsewhere) {
		return conn, err
	}
	conn, inner := inside.DialThrough(ctx, r.execFor(id), port)
	if errors.Is(inner, inside.ErrNoPython) {
		inner = fmt.Errorf("%w, and its network cannot be entered: %w", inner, err)
	}
	return conn, inner
}

// dialFromOutside connects without a program inside the container. An agent that is not root may not.
func dialFromOutside(ctx context.Context, c engine.InspectResponse, port int) (net.Conn, error) {
	if c.HostConfig != nil && c.HostConfig.NetworkMode.IsHost() && isIn(c, c.State.Pid) {
		return inside.DialLoopback(ctx, port)
	}
	namespace, err := openNamespace(c)
	if err != nil {
		return nil, err
	}
	defer func() { _ = namespace.Close() }()
	return inside.DialNamespace(ctx, namespace, port)
}

// ReadFiles packs a path with the container's tar.
func (r *Runtime) ReadFiles(ctx context.Context, id, path string) (io.ReadCloser, error) {
	return inside.ReadFiles(ctx, r.execFor(id), path)
}

// WriteFiles unpacks an archive with the container's tar.
func (r *Runtime) WriteFiles(ctx context.Context, id, dir string, archive io.Reader) error {
	return inside.WriteFiles(ctx, r.execFor(id), dir, archive)
}

func (r *Runtime) execFor(id string) inside.Exec {
	return func(ctx context.Context, argv ...string) (stream.Process, error) {
		return r.Exec(ctx, id, stream.Program{Argv: argv})
	}
}

// Exec starts a program with the engine. The engine gives it the user, the variables, the work
// directory and the rights of the container.
func (r *Runtime) Exec(ctx context.Context, id string, p stream.Program) (stream.Process, error) {
	if len(p.Argv) == 0 {
		return nil, errors.New("a program is required")
	}
	c, err := r.inspectRunning(ctx, id)
	if err != nil {
		return nil, err
	}
	e, err := r.startExec(ctx, c, p)
	if err != nil {
		return nil, fmt.Errorf("start the program: %w", r.entranceError(ctx, id, err))
	}
	return e, nil
}

// inspectRunning returns a running container.
func (r *Runtime) inspectRunning(ctx context.Context, id string) (engine.InspectResponse, error) {
	var c client.ContainerInspectResult
	err := askSoon(ctx, func(ctx context.Context) (err error) {
		c, err = r.api.ContainerInspect(ctx, containerName(id), client.ContainerInspectOptions{})
		return err
	})
	if cerrdefs.IsNotFound(err) || err == nil && phaseOf(c.Container.State) != container.Running {
		return c.Container, container.ErrNotRunning
	}
	if err != nil {
		return c.Container, fmt.Errorf("inspect container %s: %w", id, err)
	}
	return c.Container, nil
}

// entranceError returns ErrNotRunning instead of an error that is due to the end of the container.
func (r *Runtime) entranceError(ctx context.Context, id string, err error) error {
	if _, ended := r.inspectRunning(ctx, id); errors.Is(ended, container.ErrNotRunning) {
		return ended
	}
	return translateError(err)
}
