// Package frames carries what passes into a container over a websocket: the input, output and control of
// a program (Serve and Open), or the bytes of a connection (NewConn). The agent, the master and the client
// use it for each hop.
//
// Every message of a program is binary: a byte that names its kind, and at most MaxPayload bytes.
//
//	0  standard input     towards the container
//	1  standard output    from the container
//	2  standard error     from the container
//	3  control            JSON, either way: see control
//
// The messages of a connection are its bytes; an empty one ends its direction, which the other end confirms
// with the text message "end" when everything before was read. Both ends of either kind send an empty text
// message every few seconds, which tells a silent end from one that has vanished. Websocket pings would
// not: their answers wait behind the data that a slow reader has not taken.
//
// Nothing is buffered beyond the window of the standard input. A slow reader slows its writer, without a
// time limit.
package frames

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/coder/websocket"
)

const (
	// MaxPayload is the maximum size of the payload of a message in bytes. An end that receives a larger
	// message closes the stream.
	MaxPayload = 64 << 10
	// chunk is the size of the messages that are sent, in bytes. io.Copy writes as much at once.
	chunk = 32 << 10
)

// ErrLost is returned when the other end of a stream has vanished, or closed it without an orderly end.
var ErrLost = errors.New("the connection to the container was lost")

// timing is when an end is considered vanished.
type timing struct {
	// alive is the interval of the messages that prove an end alive.
	alive time.Duration
	// silence is the time without a message after which the other end counts as vanished.
	silence time.Duration
	// farewell is the time for the other end to take the last message.
	farewell time.Duration
}

// usual is the timing of all streams. Proxies close idle connections after a minute.
func usual() timing {
	return timing{alive: 15 * time.Second, silence: 50 * time.Second, farewell: 5 * time.Second}
}

// wire is one end of a stream. It has one reader; writes are safe for concurrent use.
type wire struct {
	ws *websocket.Conn
	timing
	// onText handles text messages that are not empty.
	onText func(text string) error
	in     bytes.Buffer
}

var errText = errors.New("an unknown text message")

func newWire(ws *websocket.Conn, t timing) *wire {
	ws.SetReadLimit(1 + MaxPayload)
	return &wire{ws: ws, timing: t, onText: func(string) error { return errText }}
}

// read returns the next binary message, which is valid until the next call. It returns an error wrapping
// ErrLost if the other end has vanished or sends anything else.
func (w *wire) read(ctx context.Context) ([]byte, error) {
	for {
		kind, err := w.readMessage(ctx)
		switch {
		case err == nil && kind == websocket.MessageBinary:
			return w.in.Bytes(), nil
		case err == nil && w.in.Len() == 0: // the other end is alive
		case err == nil:
			if err := w.onText(w.in.String()); err != nil {
				return nil, fmt.Errorf("%w: it sent %w", ErrLost, err)
			}
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.Is(err, context.DeadlineExceeded):
			return nil, fmt.Errorf("%w: the other end was silent for %v", ErrLost, w.silence)
		default:
			return nil, lost(err)
		}
	}
}

// lost returns an error wrapping ErrLost for one of the websocket, without the library's words on where it
// noticed the end.
func lost(err error) error {
	if closed, ok := errors.AsType[websocket.CloseError](err); ok && closed.Reason != "" {
		return fmt.Errorf("%w: %s", ErrLost, closed.Reason)
	} else if ok || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) {
		return ErrLost
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return fmt.Errorf("%w: %w", ErrLost, errno)
	}
	return fmt.Errorf("%w: %w", ErrLost, err)
}

// readMessage reads a message into w.in. It reads the whole message at once, because the time limit ends
// the connection even between two reads.
func (w *wire) readMessage(ctx context.Context) (websocket.MessageType, error) {
	ctx, cancel := context.WithTimeout(ctx, w.silence)
	defer cancel()
	kind, r, err := w.ws.Reader(ctx)
	if err == nil {
		w.in.Reset()
		_, err = w.in.ReadFrom(r)
	}
	return kind, err
}

func (w *wire) write(ctx context.Context, data []byte) error {
	return w.ws.Write(ctx, websocket.MessageBinary, data)
}

// keepAlive proves this end alive until ctx is done or the websocket is closed. While the other end reads
// nothing it waits, like any writer.
func (w *wire) keepAlive(ctx context.Context) {
	tick := time.NewTicker(w.alive)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if w.ws.Write(ctx, websocket.MessageText, nil) != nil {
				return
			}
		}
	}
}
