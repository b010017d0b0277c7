package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/server/body"
	"github.com/det-deploy/det-deploy/master/server/guard"
	"github.com/det-deploy/det-deploy/master/share"
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
	// room is what the call may take of what all calls share.
	room *guard.Room
	// place is that of a caller who is not known; nil for others.
	place *share.Place
	// contents are those of the files of a large body, and their sizes; nil where they
	// are in the message.
	contents func(file int) (io.Reader, int64)
	// given back when the work is done, before the answer is written.
	held []func()
}

// holdUntilEnd keeps what the call has taken until its work is done.
func (c *call) holdUntilEnd(give func()) { c.held = append(c.held, give) }

// releaseAll gives back what the call holds. It may be called again.
func (c *call) releaseAll() {
	held := c.held
	c.held = nil
	for _, give := range held {
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

// unaryCall is a call with a body and one answer.
func unaryCall[T any, In message[T], O any, Out message[O]](do func(*call, In) (Out, error)) endpoint {
	return endpoint{
		in: In(new(T)).ProtoReflect().Descriptor(), out: Out(new(O)).ProtoReflect().Descriptor(),
		serve: func(c *call) error {
			in := In(new(T))
			if err := c.readBody(in); err != nil {
				return err
			}
			out, err := do(c, in)
			if err != nil {
				return err
			}
			c.releaseAll() // who does not read the answer keeps nothing from others
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

// readBody decodes the body as JSON, whatever its Content-Type says.
func (c *call) readBody(in proto.Message) error {
	b, err := c.receiveBounded()
	if err != nil || len(b) == 0 {
		return err
	}
	if err := reading.Unmarshal(b, in); err != nil {
		return status.New(status.InvalidArgument, "the request's body is not what this call takes: %s", plainText(err))
	}
	return checkItems(in)
}

// plainText is an error of the decoder without the blanks by which it keeps programs from comparing its texts,
// and without what no terminal shows.
func plainText(err error) string {
	shown := strings.Map(func(r rune) rune {
		switch {
		case r == '\u00a0':
			return ' '
		case !unicode.IsPrint(r):
			return utf8.RuneError
		}
		return r
	}, err.Error())
	return strings.TrimPrefix(shown, "proto: ")
}

// receiveBounded is receive with a sentence for a body that is too large.
func (c *call) receiveBounded() ([]byte, error) {
	b, err := c.receive()
	if tooLarge, found := errors.AsType[*http.MaxBytesError](err); found {
		return nil, &sizeError{limit: tooLarge.Limit}
	}
	return b, err
}

// receive is what is to be decoded of the body, all of it where it is small.
func (c *call) receive() ([]byte, error) {
	if c.ContentLength == 0 {
		return nil, nil
	}
	if c.ContentLength > c.limit {
		return nil, &http.MaxBytesError{Limit: c.limit}
	}
	if c.isLarge() {
		return c.receiveLarge()
	}
	if err := c.takeSmall(); err != nil {
		return nil, err
	}
	b, err := readArriving(c, c.whole)
	if err != nil {
		return nil, asRefusal(err)
	}
	if c.place != nil {
		c.place.SetBusy()
	}
	switch n, most := body.CountValues(b), c.mostValues(); {
	case n > most:
		return nil, asRefusal(&body.LimitError{What: "values", Most: most})
	case n > guard.FewValues:
		return b, c.takeBytes(c.room.Values, int64(n))
	}
	return b, nil
}

// bodyLength is the body's, or the longest where the caller did not say.
func (c *call) bodyLength() int64 {
	if c.ContentLength >= 0 {
		return c.ContentLength
	}
	return c.limit
}

func (c *call) isLarge() bool { return c.bodyLength() > small }

// mostValues is how many values the body may have. A stranger's never take turns with
// those of users.
func (c *call) mostValues() int {
	if c.user == nil {
		return guard.FewValues
	}
	return mostValues
}

// takeSmall waits for the memory that a small body takes. Strangers have places of their own.
func (c *call) takeSmall() error {
	if c.user != nil {
		return c.takeBytes(c.room.Bodies, c.bodyLength())
	}
	return c.takePlace()
}

// takePlace takes a stranger's place, until the call's work is done. The call's context ends
// when another client is given the place.
func (c *call) takePlace() error {
	ctx, cancel := context.WithCancelCause(c.Context())
	place, ok := c.room.Strangers.Take(share.GroupOf(addressOf(c.Request)), func() { cancel(errCrowded()) })
	if !ok {
		cancel(nil)
		return errCrowded()
	}
	c.place, c.Request = place, c.WithContext(ctx)
	c.holdUntilEnd(func() { place.Leave(); cancel(nil) })
	return nil
}

func errCrowded() error {
	return status.New(status.Unavailable, "too many logins from your address are under way; try again in a few seconds")
}

// takeBytes waits for the room that n bytes take.
func (c *call) takeBytes(from *guard.Budget, n int64) error {
	give, err := from.Take(c.Context(), n)
	if err == nil {
		c.holdUntilEnd(give)
	}
	return err
}

// readArriving reads the body, for as long as it may take and the call's context lasts.
func readArriving[T any](c *call, read func() (T, error)) (T, error) {
	rc := http.NewResponseController(c.w)
	limit := smallTime
	if c.limit > small {
		limit += time.Duration(max(c.ContentLength, small)/slowest) * time.Second
	}
	if c.ContentLength < 0 && c.limit > small {
		limit = largeTime
	}
	timed := rc.SetReadDeadline(time.Now().Add(limit)) == nil
	stop := context.AfterFunc(c.Context(), func() { _ = rc.SetReadDeadline(time.Now()) })
	defer stop()
	got, err := read()
	if crowded, found := errors.AsType[*status.Error](context.Cause(c.Context())); found && err != nil {
		return got, crowded
	}
	if timed && err == nil {
		_ = rc.SetReadDeadline(time.Time{}) // else a long answer would end with it
	}
	return got, err
}

// boundedBody is the body up to the call's limit.
func (c *call) boundedBody() io.Reader { return http.MaxBytesReader(c.w, c.Body, c.limit) }

// whole is the body in one piece.
func (c *call) whole() ([]byte, error) {
	if n := c.ContentLength; n > 0 {
		b := make([]byte, n)
		_, err := io.ReadFull(c.boundedBody(), b)
		return b, err
	}
	return io.ReadAll(c.boundedBody())
}

// asRefusal says whose fault it is that a body was not taken.
func asRefusal(err error) error {
	if err == nil {
		return nil
	}
	if _, found := errors.AsType[*http.MaxBytesError](err); found {
		return err
	}
	if _, found := errors.AsType[*status.Error](err); found {
		return err
	}
	if _, found := errors.AsType[*body.DiskError](err); found {
		return status.New(status.Unavailable, "%v", err)
	}
	if _, found := errors.AsType[*body.LimitError](err); found {
		return status.New(status.InvalidArgument, "%v", err)
	}
	if _, found := errors.AsType[*body.ContentError](err); found {
		return status.New(status.InvalidArgument, "%v", err)
	}
	return status.New(status.InvalidArgument, "the request's body did not arrive: %v", err)
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
