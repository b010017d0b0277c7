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

// call is one request whose caller is known.
type call struct {
	*http.Request
	w http.ResponseWriter

	// user is who calls, or whose task does; nil on open calls.
	user *apiv1.User
	// allocation is set when a task calls.
	allocation string
	// inTask is set when a user's tools inside a task call: its allocation.
	inTask string
	token  string
	deed   deed
	// answered is called before an answer is written; nil for none.
	answered func(ctx context.Context)
	// intake receives the body.
	intake intake
	params *query.Values
}

// query is the parameters of the call.
func (c *call) query() *query.Values {
	if c.params == nil {
		c.params = query.Of(c.URL)
	}
	return c.params
}

// message is what P must be for T to be a message type.
type message[T any] interface {
	*T
	proto.Message
}

var (
	// reading follows the contract: both spellings, null is unset, and what we do
	// not know is passed over.
	reading = protojson.UnmarshalOptions{DiscardUnknown: true}
	// writing shows every field, and null for messages that are not there.
	writing = protojson.MarshalOptions{EmitUnpopulated: true}
)

// unaryCall is a call with a body and one answer.
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
			c.intake.releaseAll() // who does not read the answer keeps nothing from others
			return c.writeAnswer(out)
		},
	}
}

// plainCall is a call whose body says nothing.
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

// writeTime is how long an answer may take, and each item of a stream, which may be silent for as long as it likes.
const writeTime = time.Minute

func writeJSON(w http.ResponseWriter, code int, b []byte) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime)) // recorders in tests have none
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = w.Write(b) // a client that has left is told nothing
}

// whileServing is a context for streams and long polls: it ends with the request and
// when the server stops.
func (s *shared) whileServing(c *call) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(c.Context())
	go func() {
		select {
		case <-s.stopping:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}
