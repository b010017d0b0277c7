package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/internal/wait"
)

// stream is a response with one JSON object per line that is followed across broken
// connections.
//
// A master sends the lines of a log in a fixed order, and each has an ID. When the
// connection breaks, the client repeats the request with the ID of the last line as
// "afterId". A master that supports the parameter continues after that line. One that
// does not (Determined 0.38.1) starts again at the first line; the client detects this
// and skips the known lines:
//
//	1 2 3 4 ╳   reconnect   1 2 3 4 5 6     the first line again: skip to 4
//	1 2 3 4 ╳   reconnect           5 6     another line: it is the next
type stream[T proto.Message] struct {
	client *transport
	call   call
	// fresh returns an empty message, and id the ID of a message.
	fresh func() T
	id    func(T) string
	// ended reports whether the stream is complete after the server closed it without an error,
	// because a master that stops also closes its streams. It is nil if closing suffices.
	ended func(context.Context) (bool, error)

	first    T
	last     string
	skipping bool
	// opened is set once the master has answered.
	opened bool
}

// lines reads the stream. While follow is set, it reconnects and continues with the next line.
func (s *stream[T]) lines(ctx context.Context, follow bool) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		for {
			more, err := s.read(ctx, yield)
			if !more {
				return
			}
			if err == nil && s.over(ctx, follow) {
				return
			}
			if err == nil && ctx.Err() != nil {
				err = fmt.Errorf("%s: %w", s.call.op, ctx.Err())
			}
			if err != nil && (!follow || ctx.Err() != nil || !s.resumes(err)) {
				yield(zero, err)
				return
			}
			// The pause prevents a busy loop if the master closes the stream at once;
			// sendWithRetries waits for a master that is starting.
			if err := wait.For(ctx, firstWait); err != nil {
				yield(zero, err)
				return
			}
		}
	}
}

// resumes reports whether to reopen a followed stream after err. A master that has answered once is
// waited for without a limit, because an upgrade or the restart of a machine takes longer than the
// retries of a call.
func (s *stream[T]) resumes(err error) bool {
	if dropped(err) {
		return true
	}
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Kind != Unavailable || !s.opened {
		return false
	}
	if s.client.away != nil {
		s.client.away(err)
	}
	return true
}

// over reports whether a stream that ended without an error is complete.
func (s *stream[T]) over(ctx context.Context, follow bool) bool {
	if !follow || s.ended == nil {
		return true
	}
	ended, err := s.ended(ctx)
	// If the state cannot be read, reopening the stream reports the error.
	return err == nil && ended
}

// errDropped reports that the connection broke during a stream.
var errDropped = errors.New("the connection dropped")

func dropped(err error) bool { return errors.Is(err, errDropped) }

// read yields the lines of one connection. More is false if the consumer stops.
func (s *stream[T]) read(ctx context.Context, yield func(T, error) bool) (more bool, err error) {
	body, err := s.open(ctx)
	if err != nil {
		return true, err
	}
	defer body.Close() //nolint:errcheck // it was only read
	r := bufio.NewReaderSize(body, 64<<10)
	for begin := true; ; begin = false {
		raw, err := r.ReadBytes('\n')
		if err == io.EOF && len(raw) == 0 { //nolint:errorlint // ReadBytes returns io.EOF itself
			return true, nil
		}
		if err != nil {
			return true, s.client.unreached(ctx, s.call.op, errors.Join(errDropped, err))
		}
		m, err := s.decode(raw)
		if err != nil {
			return true, err
		}
		if s.known(m, begin) {
			continue
		}
		if !yield(m, nil) {
			return false, nil
		}
	}
}

// open requests the lines after the last one.
func (s *stream[T]) open(ctx context.Context) (io.ReadCloser, error) {
	if s.last != "" {
		s.call.query.Set("afterId", s.last)
	}
	body, err := s.client.sendWithRetries(ctx, s.call)
	s.opened = s.opened || err == nil
	return body, err
}

// known records m as read and reports whether it was read before.
func (s *stream[T]) known(m T, begin bool) bool {
	id := s.id(m)
	switch {
	case s.last == "":
		s.first = m
	case begin:
		s.skipping = proto.Equal(m, s.first)
	}
	if s.skipping {
		s.skipping = id != s.last
		return true
	}
	s.last = id
	return false
}

// decode parses a line: a result, or the error that ends the stream.
func (s *stream[T]) decode(raw []byte) (T, error) {
	var envelope struct {
		Result json.RawMessage `json:"result"`
		Error  *struct {
			HTTPCode int    `json:"http_code"`
			Message  string `json:"message"`
		} `json:"error"`
	}
	m := s.fresh()
	if err := json.Unmarshal(raw, &envelope); err != nil {
		return m, &Error{Kind: Internal, Op: s.call.op, Master: s.client.URL(), Err: err}
	}
	if e := envelope.Error; e != nil {
		kind, ok := kinds[e.HTTPCode]
		if !ok {
			kind = Internal
		}
		return m, &Error{Kind: kind, Op: s.call.op, Master: s.client.URL(), See: s.call.see(), Message: e.Message}
	}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(envelope.Result, m); err != nil {
		return m, &Error{Kind: Internal, Op: s.call.op, Master: s.client.URL(), Err: err}
	}
	return m, nil
}
