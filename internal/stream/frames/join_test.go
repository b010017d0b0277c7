package frames

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
)

// local returns both ends of a TCP connection.
func local(t *testing.T) (near, far *net.TCPConn) {
	t.Helper()
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	near, err = net.DialTCP("tcp", nil, l.Addr().(*net.TCPAddr))
	if err != nil {
		t.Fatal(err)
	}
	far, err = l.AcceptTCP()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = near.Close(), far.Close() })
	return near, far
}

// chain returns a person's end and a service's end of a connection over two hops, as through a master and
// an agent. joined is closed when nothing of it is left.
func chain(ctx context.Context, t *testing.T) (person *Conn, service *net.TCPConn, joined <-chan struct{}) {
	t.Helper()
	person, a := connect(t, patient()) //nolint:contextcheck // ctx is that of Join
	b, c := connect(t, patient())      //nolint:contextcheck // likewise
	d, service := local(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ended := make(chan struct{})
		go func() { defer close(ended); Join(ctx, c, d) }()
		Join(ctx, a, b)
		<-ended
	}()
	return person, service, done
}

func TestJoinPassesBytesAndHalfClose(t *testing.T) {
	t.Parallel()
	person, service, joined := chain(t.Context(), t)
	go func() {
		request, _ := io.ReadAll(service)
		_, _ = service.Write(append(request, " and the answer"...))
		_ = service.Close()
	}()
	if _, err := io.WriteString(person, "a request"); err != nil {
		t.Fatal(err)
	}
	if err := person.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(person); string(got) != "a request and the answer" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	_ = person.Close()
	<-joined
}

// A person who leaves after the last byte does not cut what is on its way to a slow service, and a service
// that ignores it is left.
func TestJoinWritesWhatAPersonLeaves(t *testing.T) {
	t.Parallel()
	person, service, joined := chain(t.Context(), t)
	const size = 20 << 20
	if _, err := person.Write(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = person.Write(make([]byte, size-1))
		_ = person.Close()
	}()
	if n, err := io.Copy(io.Discard, service); n != size || err != nil {
		t.Errorf("got %d bytes and %v, want %d", n, err, size)
	}
	<-joined // though the service has not closed its end
}

func TestJoinPassesOnThatAConnectionBroke(t *testing.T) {
	t.Parallel()
	person, service, joined := chain(t.Context(), t)
	if _, err := io.WriteString(service, "half"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(person, make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
	abort(service)
	if _, err := io.ReadAll(person); !errors.Is(err, ErrLost) {
		t.Errorf("got %v, want %v", err, ErrLost)
	}
	<-joined

	person, service, joined = chain(t.Context(), t)
	if _, err := io.WriteString(person, "half"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(service, make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
	person.Abort()
	if _, err := io.ReadAll(service); err == nil {
		t.Error("the service does not notice that the person is lost")
	}
	<-joined
}

func TestJoinEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	person, service, joined := chain(ctx, t)
	cancel()
	if _, err := io.ReadAll(person); err == nil {
		t.Error("the person's end is closed in an orderly way")
	}
	if _, err := io.ReadAll(service); err == nil {
		t.Error("the service's end is closed in an orderly way")
	}
	<-joined
}
