package server

import (
	"context"
	"io"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// Contexts stores the directories that users send before their tasks and experiments. by is the user.
type Contexts interface {
	Limits() *apiv1.GetContextLimitsResponse
	// Announce stores the list of a context's files and returns the pieces that the user has to send.
	Announce(ctx context.Context, by *apiv1.User, files []*apiv1.ContextFile) (*apiv1.PostContextResponse, error)
	// AddPieces stores the pieces in a gzipped tar, and returns the number of those that were missing.
	AddPieces(ctx context.Context, by *apiv1.User, id string, from io.Reader) (int, error)
}

// The size limits of bodies, compressed.
const (
	listLimit   = 32 << 20
	piecesLimit = 65 << 20
)

// contextCalls serves the calls about contexts.
type contextCalls struct{ *shared }

func (x *contextCalls) routes() []route {
	if x.cfg.Contexts == nil {
		return nil
	}
	return []route{
		getRoute("context-limits", user, plainCall(x.limits)),
		sizedCall(postRoute("contexts", user, packedCall(x.announce)), listLimit),
		sizedCall(postRoute("contexts/{context}/pieces", user, plainCall(x.addPieces)), piecesLimit),
	}
}

// packedCall is unaryCall for a body that may be compressed.
func packedCall[T any, In message[T], O any, Out message[O]](do func(*call, In) (Out, error)) endpoint {
	e := unaryCall(do)
	e.serve = func(c *call) error {
		in := In(new(T))
		if err := c.intake.readPacked(in); err != nil {
			return err
		}
		out, err := do(c, in)
		if err != nil {
			return err
		}
		c.intake.releaseAll() // as in unaryCall
		return c.writeAnswer(out)
	}
	return e
}

func (x *contextCalls) limits(*call) (*apiv1.GetContextLimitsResponse, error) {
	return x.cfg.Contexts.Limits(), nil
}

func (x *contextCalls) announce(c *call, in *apiv1.PostContextRequest) (*apiv1.PostContextResponse, error) {
	return x.cfg.Contexts.Announce(c.Context(), c.user, in.GetFiles())
}

func (x *contextCalls) addPieces(c *call) (*apiv1.PostContextPiecesResponse, error) {
	from, err := c.intake.receiveFile()
	if err != nil {
		return nil, err
	}
	n, err := x.cfg.Contexts.AddPieces(c.Context(), c.user, c.PathValue("context"), from)
	return &apiv1.PostContextPiecesResponse{Stored: int32(n)}, err
}
