package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// call is one request whose caller is known.
type call struct {
	*http.Request
	w     http.ResponseWriter
	limit int64

	// user is who calls, or whose task does; nil on open calls.
	user *apiv1.User
	// allocation is set when a task calls.
	allocation string
	// inTask is set when a user's tools inside a task call: its allocation.
	inTask string
	token  string
	bad    error
	deed   deed
	// answered is called before an answer is written; nil for none.
	answered func(ctx context.Context)
	// room and uploads are what the call may take of what all calls share.
	room    *budget
	uploads *waits
	// given back when the call ends.
	held []func()
}

// hold keeps what the call has taken until it ends.
func (c *call) hold(give func()) { c.held = append(c.held, give) }

func (c *call) end() {
	for _, give := range c.held {
		give()
	}
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

// unary is a call with a body and one answer.
func unary[T any, In message[T], O any, Out message[O]](do func(*Server, *call, In) (Out, error)) endpoint {
	return endpoint{
		in: In(new(T)).ProtoReflect().Descriptor(), out: Out(new(O)).ProtoReflect().Descriptor(),
		serve: func(s *Server, c *call) error {
			in := In(new(T))
			if err := c.read(in); err != nil {
				return err
			}
			out, err := do(s, c, in)
			if err != nil {
				return err
			}
			return c.write(out)
		},
	}
}

// plain is a call whose body says nothing.
func plain[O any, Out message[O]](do func(*Server, *call) (Out, error)) endpoint {
	return endpoint{
		out: Out(new(O)).ProtoReflect().Descriptor(),
		serve: func(s *Server, c *call) error {
			out, err := do(s, c)
			if err != nil {
				return err
			}
			return c.write(out)
		},
	}
}

// The time that bodies and answers may take. A stream gets writeTime for each item,
// and may be silent for as long as it likes.
const (
	smallTime = 30 * time.Second
	largeTime = 5 * time.Minute // of unknown length
	writeTime = time.Minute
)

// slowest is the rate, in bytes a second, at which a large body must at least arrive:
// others wait for the room it takes.
const slowest = 512 << 10

// reserve waits for the room that the body takes.
func (c *call) reserve() error {
	n := c.ContentLength
	switch {
	case n == 0:
		return nil
	case n < 0 || n > c.limit: // unknown, or refused in a moment
		n = c.limit
	}
	if n > small && c.uploads != nil {
		leave, err := c.uploads.enter(c)
		if err != nil {
			return status.New(status.Unavailable, "%d large requests of yours are under way; try again when some have ended", c.uploads.most)
		}
		c.hold(leave)
	}
	if c.room == nil {
		return nil
	}
	give, err := c.room.take(c.Context(), n)
	if err != nil {
		return err
	}
	c.hold(give)
	return nil
}

// body is the whole body, in one piece where its length was told.
func (c *call) body() ([]byte, error) {
	from := http.MaxBytesReader(c.w, c.Body, c.limit)
	if n := c.ContentLength; n > 0 && n <= c.limit {
		b := make([]byte, n)
		_, err := io.ReadFull(from, b)
		return b, err
	}
	return io.ReadAll(from)
}

// read decodes the body as JSON, whatever its Content-Type says.
func (c *call) read(in proto.Message) error {
	if err := c.reserve(); err != nil {
		return err
	}
	rc := http.NewResponseController(c.w)
	limit := smallTime
	if c.limit > small {
		limit += time.Duration(max(c.ContentLength, small)/slowest) * time.Second
	}
	if c.ContentLength < 0 && c.limit > small {
		limit = largeTime
	}
	timed := rc.SetReadDeadline(time.Now().Add(limit)) == nil
	b, err := c.body()
	if timed && err == nil {
		_ = rc.SetReadDeadline(time.Time{}) // else a long answer would end with it
	}
	if tooLarge, found := errors.AsType[*http.MaxBytesError](err); found {
		return &sizeError{limit: tooLarge.Limit}
	}
	if err != nil {
		return status.New(status.InvalidArgument, "the request's body did not arrive: %v", err)
	}
	if len(b) == 0 {
		return nil
	}
	if err := reading.Unmarshal(b, in); err != nil {
		return status.New(status.InvalidArgument, "the request's body is not what this call takes: %v", err)
	}
	return nil
}

func (c *call) write(out proto.Message) error {
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

func writeJSON(w http.ResponseWriter, code int, b []byte) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime)) // recorders in tests have none
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = w.Write(b) // a client that has left is told nothing
}

// patient is a context for streams and long polls: it ends with the request and
// when the server stops.
func (s *Server) patient(c *call) (context.Context, context.CancelFunc) {
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
