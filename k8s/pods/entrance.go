package pods

import (
	"context"
	"io"
	"net"

	"github.com/det-deploy/det-deploy/internal/stream"
	"github.com/det-deploy/det-deploy/k8s/pods/streams"
	"github.com/det-deploy/det-deploy/k8s/podspec"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// entrance opens streams into the pods of running containers.
type entrance struct {
	client streams.Client
	count  *streams.Counter
	state  *state
}

func newEntrance(c Config, s *state) *entrance {
	return &entrance{client: streams.Client{API: c.Client, Config: c.REST}, count: streams.NewCounter(), state: s}
}

// find returns the container of a pod that runs, and counts a stream into it until release is called.
func (e *entrance) find(id rm.ContainerID) (at streams.Container, release func(), err error) {
	if e.client.Config == nil {
		return at, nil, &rm.UnreachableError{Reason: "this master opens no streams into pods"}
	}
	at, found := e.state.podOf(id)
	if !found {
		return at, nil, rm.ErrNotRunning
	}
	release, err = e.count.Acquire(id)
	return at, release, err
}

// podOf returns the container of a pod, if it runs.
func (s *state) podOf(id rm.ContainerID) (streams.Container, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.allocations {
		for _, c := range a.containers {
			if c.id == id {
				return streams.Container{Namespace: c.namespace, Pod: c.pod, Name: podspec.MainContainer}, c.state == apiv1.Container_STATE_RUNNING && c.pod != ""
			}
		}
	}
	return streams.Container{}, false
}

// Dial implements rm.Streams. A port on which nothing listens shows in the first Read.
func (r *RM) Dial(ctx context.Context, id rm.ContainerID, port int) (net.Conn, error) {
	at, release, err := r.entrance.find(id)
	if err != nil {
		return nil, err
	}
	c, err := r.entrance.client.Dial(ctx, at, port)
	if err != nil {
		release()
		return nil, err
	}
	return streams.CountConn(c, release), nil
}

// Exec implements rm.Streams.
func (r *RM) Exec(ctx context.Context, id rm.ContainerID, p stream.Program) (stream.Process, error) {
	at, release, err := r.entrance.find(id)
	if err != nil {
		return nil, err
	}
	out, err := r.entrance.client.Exec(ctx, at, p)
	if err != nil {
		release()
		return nil, err
	}
	return streams.CountProcess(out, release), nil
}

// ReadFiles implements rm.Streams.
func (r *RM) ReadFiles(ctx context.Context, id rm.ContainerID, path string) (io.ReadCloser, error) {
	at, release, err := r.entrance.find(id)
	if err != nil {
		return nil, err
	}
	out, err := r.entrance.client.ReadFiles(ctx, at, path)
	if err != nil {
		release()
		return nil, err
	}
	return streams.CountReader(out, release), nil
}

// WriteFiles implements rm.Streams.
func (r *RM) WriteFiles(ctx context.Context, id rm.ContainerID, dir string, archive io.Reader) error {
	at, release, err := r.entrance.find(id)
	if err != nil {
		return err
	}
	defer release()
	return r.entrance.client.WriteFiles(ctx, at, dir, archive)
}
