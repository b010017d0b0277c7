package server

import (
	"context"
	"net/http"
	"time"

	"google.golang.org/protobuf/proto"
)

// streamCall returns the endpoint of a call that responds with a stream of lines.
func streamCall[O any, Out message[O]](s *shared, do func(ctx context.Context, c *call, send func(Out) error) error) endpoint {
	return endpoint{
		out: Out(new(O)).ProtoReflect().Descriptor(), streams: true,
		serve: func(c *call) error {
			if err := s.countStream(c); err != nil {
				return err
			}
			ctx, cancel := s.whileServing(c.Context())
			defer cancel()
			l := &lines{w: c.w, rc: http.NewResponseController(c.w)}
			err := do(ctx, c, func(m Out) error { return l.sendLine(m) })
			switch {
			case ctx.Err() != nil: // the client has disconnected, or the server stops
				l.endLines()
				return nil
			case err != nil && !l.started:
				return err
			case err != nil:
				s.logFailure(c, err)
				_ = l.writeLine(streamError(err)) // the client may have disconnected
			}
			l.endLines()
			return nil
		},
	}
}

// countStream counts a long-running call.
func (s *shared) countStream(c *call) error {
	leave, err := s.streams.Acquire(c.ownerKey())
	if err == nil {
		c.intake.holdUntilEnd(leave)
	}
	return err
}

// lines writes one object per line and flushes each; otherwise clients would wait for a full buffer. It
// writes no empty lines because clients parse every line.
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
	l.renewDeadline()
	l.w.Header().Set("Content-Type", "application/json")
	l.w.Header().Set("X-Content-Type-Options", "nosniff")
	l.w.WriteHeader(http.StatusOK)
	_ = l.rc.Flush()                       // a disconnected client cancels the context
	_ = l.rc.SetWriteDeadline(time.Time{}) // as in writeLine
}

// endLines renews the deadline for the end of the response, which net/http writes after the handler
// returns.
func (l *lines) endLines() {
	l.startLines()
	l.renewDeadline()
}

func (l *lines) renewDeadline() {
	_ = l.rc.SetWriteDeadline(time.Now().Add(writeTime)) // not supported by recorders in tests
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
	l.renewDeadline()
	if _, err := l.w.Write(append(line, '\n')); err != nil {
		return err
	}
	if err := l.rc.Flush(); err != nil {
		return err
	}
	_ = l.rc.SetWriteDeadline(time.Time{}) // HTTP/2 would reset a stream that is silent for longer
	return nil
}
