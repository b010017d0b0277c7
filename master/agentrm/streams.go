package agentrm

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/internal/stream"
	"github.com/det-deploy/det-deploy/master/agentrm/link"
	"github.com/det-deploy/det-deploy/master/agentrm/streams"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/token"
)

// Dial implements rm.Streams.
func (r *RM) Dial(ctx context.Context, id rm.ContainerID, port int) (net.Conn, error) {
	o, send, err := r.state.reserveStream(ctx, id, false)
	if err != nil {
		return nil, err
	}
	return r.state.streams.Dial(ctx, o, send, port)
}

// Exec implements rm.Streams.
func (r *RM) Exec(ctx context.Context, id rm.ContainerID, p stream.Program) (stream.Process, error) {
	o, send, err := r.state.reserveStream(ctx, id, true)
	if err != nil {
		return nil, err
	}
	return r.state.streams.Exec(ctx, o, send, p)
}

// ReadFiles implements rm.Streams.
func (r *RM) ReadFiles(ctx context.Context, id rm.ContainerID, path string) (io.ReadCloser, error) {
	o, send, err := r.state.reserveStream(ctx, id, true)
	if err != nil {
		return nil, err
	}
	return r.state.streams.ReadFiles(ctx, o, send, path)
}

// WriteFiles implements rm.Streams. The context bounds the whole transfer.
func (r *RM) WriteFiles(ctx context.Context, id rm.ContainerID, dir string, archive io.Reader) error {
	o, send, err := r.state.reserveStream(ctx, id, true)
	if err != nil {
		return err
	}
	return r.state.streams.WriteFiles(ctx, o, send, dir, archive)
}

// reserveStream returns a place for a stream into a running container, and the link to its agent.
func (s *state) reserveStream(ctx context.Context, id rm.ContainerID, program bool) (*streams.Order, streams.Send, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.containers[id]
	if c == nil || c.givenUp || c.state != apiv1.Container_STATE_RUNNING {
		return nil, nil, rm.ErrNotRunning
	}
	a := s.agents[c.agent]
	if a == nil || a.link == nil {
		return nil, nil, &rm.UnreachableError{Reason: fmt.Sprintf("agent %s is not connected; try again when it is back", c.agent)}
	}
	if !a.opensStreams {
		return nil, nil, &rm.UnreachableError{
			Reason: fmt.Sprintf("agent %s runs version %s, which cannot open streams; upgrade it", a.id, excerpt.Of(a.version)),
		}
	}
	o, err := s.streams.Reserve(ctx, a.id, c.id, program)
	return o, a.link.Send, err
}

// checkStreamCredential returns an error if the credential of a request is not one of an agent.
func (s *state) checkStreamCredential(req *http.Request, id rm.AgentID, credential token.Text) error {
	who, err := s.cfg.Gate.Admit(req.Context(), JoinProof{Agent: id, Credential: credential, Address: remoteHost(req)})
	if err == nil && who.Agent != id {
		err = link.Final("the credential belongs to agent %s, not to %s", who.Agent, id)
	}
	return err
}
