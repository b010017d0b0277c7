package frames

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// connect returns both ends of a connection.
func connect(t *testing.T, tm timing) (near, far *Conn) {
	t.Helper()
	a, b := pair(t)
	near, far = newConn(t.Context(), a, tm), newConn(t.Context(), b, tm)
	t.Cleanup(func() { _, _ = near.Close(), far.Close() })
	return near, far
}

func TestConnectionCarriesBytesAndHalfClose(t *testing.T) {
	t.Parallel()
	near, far := connect(t, patient())
	large := bytes.Repeat([]byte("0123456789"), 500_000)
	go func() {
		_, err := near.Write(large)
		if err := errors.Join(err, near.CloseWrite()); err != nil {
			t.Error(err)
		}
	}()
	got, err := io.ReadAll(far)
	if err != nil || !bytes.Equal(got, large) {
		t.Errorf("got %d bytes and %v, want %d", len(got), err, len(large))
	}
	if _, err := far.Write([]byte("answer")); err != nil {
		t.Fatal(err)
	}
	if err := far.Close(); err != nil {
		t.Error(err)
	}
	if got, err := io.ReadAll(near); string(got) != "answer" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := near.Write(large); err == nil {
		t.Error("a closed connection takes bytes")
	}
}

// What was written before Close arrives, though the other end is in the middle of writing.
func TestCloseSendsWhatWasWritten(t *testing.T) {
	t.Parallel()
	near, far := connect(t, patient())
	go func() { _, _ = io.Copy(near, zeros{}) }()
	go func() {
		_, _ = io.CopyN(io.Discard, far, 1<<20)
		_, _ = far.Write([]byte("no more"))
		_ = far.Close()
	}()
	if got, err := io.ReadAll(near); string(got) != "no more" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestReadDeadlineKeepsConnection(t *testing.T) {
	t.Parallel()
	near, far := connect(t, patient())
	if err := near.SetReadDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := near.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v, want %v", err, os.ErrDeadlineExceeded)
	}
	if err := near.SetDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	if _, err := far.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if n, err := near.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Errorf("got %d, %v", n, err)
	}
}

func TestVanishedEndOfConnectionIsNoticed(t *testing.T) {
	t.Parallel()
	a, _ := pair(t)
	near := newConn(t.Context(), a, hasty())
	if _, err := near.Read(make([]byte, 1)); !errors.Is(err, ErrLost) {
		t.Errorf("got %v, want %v", err, ErrLost)
	}
	<-near.Done()
}

func TestSlowReaderKeepsConnection(t *testing.T) {
	t.Parallel()
	tm := hasty()
	near, far := connect(t, tm)
	go func() { _, _ = near.Write(make([]byte, 32<<20)) }()
	time.Sleep(3 * tm.silence) //nolint:forbidigo // the time is the subject
	if n, err := io.CopyN(io.Discard, far, 32<<20); err != nil {
		t.Errorf("got %d bytes and %v", n, err)
	}
}

// A connection is closed when the other end has read what was written, however late.
func TestCloseWaitsForSlowReader(t *testing.T) {
	t.Parallel()
	tm := hasty()
	near, far := connect(t, tm)
	if _, err := near.Write(make([]byte, 200<<10)); err != nil { // fits into the buffers of the system
		t.Fatal(err)
	}
	if err := near.Close(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(3 * tm.silence) //nolint:forbidigo // the time is the subject
	select {
	case <-near.Done():
		t.Error("the connection is gone before it was read")
	default:
	}
	if n, err := io.Copy(io.Discard, far); n != 200<<10 || err != nil {
		t.Errorf("got %d bytes and %v", n, err)
	}
	<-near.Done()
	<-far.Done()
}

// A connection that is cut does not end like one that was closed: an archive would lack files.
func TestDoneContextIsNoEndOfFile(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	near, far := newConn(ctx, a, patient()), newConn(t.Context(), b, patient())
	stopping := errors.New("the master is stopping")
	if _, err := far.Write([]byte("half of a")); err != nil {
		t.Fatal(err)
	}
	if _, err := near.Read(make([]byte, 1)); err != nil { // the rest is not read
		t.Fatal(err)
	}
	cancel(stopping)
	if _, err := io.ReadAll(near); !errors.Is(err, stopping) {
		t.Errorf("got %v, want %v", err, stopping)
	}
	if _, err := io.ReadAll(far); !errors.Is(err, ErrLost) {
		t.Errorf("the other end: got %v, want %v", err, ErrLost)
	}
	_, _ = near.Close(), far.Close()
}

func TestLargeMessageEndsConnection(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	far := newConn(t.Context(), b, patient())
	if err := a.Write(t.Context(), websocket.MessageBinary, make([]byte, 1<<20)); err != nil {
		t.Log(err) // the other end was faster
	}
	if n, err := io.Copy(io.Discard, far); n != 0 || !errors.Is(err, ErrLost) {
		t.Errorf("got %d bytes and %v", n, err)
	}
	_ = far.Close()
}

// Close does not wait for an end that reads nothing.
func TestCloseOfStuckConnection(t *testing.T) {
	t.Parallel()
	a, _ := pair(t)
	near := newConn(t.Context(), a, patient())
	wrote := make(chan error, 1)
	go func() { _, err := io.Copy(near, zeros{}); wrote <- err }()
	for near.writing.TryLock() {
		near.writing.Unlock()
	}
	if err := near.Close(); err != nil {
		t.Error(err)
	}
	if err := <-wrote; err == nil {
		t.Error("a closed connection takes bytes")
	}
	<-near.Done()
}

var _ net.Conn = (*Conn)(nil)
