package server

import (
	"context"
	"net/http"
	"time"

	"google.golang.org/protobuf/proto"
)

// streamCall is a call that answers with lines until it ends.
func streamCall[O any, Out message[O]](s *shared, do func(ctx context.Context, c *call, send func(Out) error) error) endpoint {
	return endpoint{
		out: Out(new(O)).ProtoReflect().Descriptor(), streams: true,
		serve: func(c *call) error {
			if err := s.countStream(c); err != nil {
				return err
			}
			ctx, cancel := s.whileServing(c)
			defer cancel()
			l := &lines{w: c.w, rc: http.NewResponseController(c.w)}
			err := do(ctx, c, func(m Out) error { return l.sendLine(m) })
			switch {
			case ctx.Err() != nil: // the client has left, or we are going to
				l.startLines()
				return nil
			case err != nil && !l.started:
				return err
			case err != nil:
				s.logFailure(c, err)
				_ = l.writeLine(streamError(err)) // a client that has left is told nothing
			}
			l.startLines()
			return nil
		},
	}
}

// countStream counts a call that lasts.
func (s *shared) countStream(c *call) error {
	leave, err := s.streams.acquireWait(c.ownerKey())
	if err == nil {
		c.holdUntilEnd(leave)
	}
	return err
}

// lines writes one object a line and flushes each: without that clients wait for a
// megabyte. There are no empty lines, because clients parse every one.
type lines struct {
	w       http.ResponseWriter
	rc      *http.ResponseController
	started bool
	b       []byte
}

func (l *lines) startLines() {
	if l.started {
		return
	}
	l.started = true
	l.w.Header().Set("Content-Type", "application/json")
	l.w.Header().Set("X-Content-Type-Options", "nosniff")
	l.w.WriteHeader(http.StatusOK)
	_ = l.rc.Flush() // a client that has left ends the context
}

func (l *lines) sendLine(m proto.Message) error {
	b := append(l.b[:0], `{"result":`...)
	b, err := writing.MarshalAppend(b, m)
	if err != nil {
		return err
	}
	l.b = append(b, '}')
	return l.writeLine(l.b)
}

func (l *lines) writeLine(line []byte) error {
	l.startLines()
	_ = l.rc.SetWriteDeadline(time.Now().Add(writeTime)) // recorders in tests have none
	if _, err := l.w.Write(append(line, '\n')); err != nil {
		return err
	}
	return l.rc.Flush()
}
