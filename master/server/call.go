package server

import (
	"context"
	"net/http"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/server/query"
)

// call is a request with its caller.
type call struct {
	*http.Request
	w http.ResponseWriter

	// user is the caller or the owner of the calling task. It is nil for open calls.
	user *apiv1.User
	// allocation is set if the caller is a task.
	allocation string
	// inTask is the allocation if the caller uses a user's token inside a task.
	inTask string
	token  string
	deed   deed
	// answered is called before the response is written; it may be nil.
	answered func(ctx context.Context)
	// intake receives the body.
	intake intake
	params *query.Values
}

// query returns the query parameters of the call.
func (c *call) query() *query.Values {
	if c.params == nil {
		c.params = query.Of(c.URL)
	}
	return c.params
}

// message constrains *T to message types.
type message[T any] interface {
	*T
	proto.Message
}

var (
	// reading follows the API contract: both spellings of names are accepted, null is unset, and unknown
	// fields are ignored.
	reading = protojson.UnmarshalOptions{DiscardUnknown: true}
	// writing emits all fields, with null for missing messages.
	writing = protojson.MarshalOptions{EmitUnpopulated: true}
)

// unaryCall returns the endpoint of a call with a request body and a single response.
func unaryCall[T any, In message[T], O any, Out message[O]](do func(*call, In) (Out, error)) endpoint {
	return endpoint{
		in: In(new(T)).ProtoReflect().Descriptor(), out: Out(new(O)).ProtoReflect().Descriptor(),
		serve: func(c *call) error {
			in := In(new(T))
			if err := c.intake.read(in); err != nil {
				return err
			}
			out, err := do(c, in)
			if err != nil {
				return err
			}
			c.intake.releaseAll() // a slow reader of the response must not hold shared resources
			return c.writeAnswer(out)
		},
	}
}

// plainCall returns the endpoint of a call without a request body.
func plainCall[O any, Out message[O]](do func(*call) (Out, error)) endpoint {
	return endpoint{
		out: Out(new(O)).ProtoReflect().Descriptor(),
		serve: func(c *call) error {
			out, err := do(c)
			if err != nil {
				return err
			}
			return c.writeAnswer(out)
		},
	}
}

func (c *call) writeAnswer(out proto.Message) error {
	b, err := writing.Marshal(out)
	if err != nil {
		return err
	}
	if c.answered != nil {
		c.answered(c.Context())
	}
	writeJSON(c.w, http.StatusOK, b)
	return nil
}

// writeTime is the time limit for writing a response, or each item of a stream. Streams may pause without
// limit between items.
const writeTime = time.Minute

func writeJSON(w http.ResponseWriter, code int, b []byte) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime)) // not supported by recorders in tests
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = w.Write(b) // the client may have disconnected
}

// whileServing returns a context for streams and long polls. It is canceled at the end of the request and
// when the server stops.
func (s *shared) whileServing(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-s.stopping:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}
