package frames

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"github.com/det-deploy/det-deploy/internal/stream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patient is a timing in which nothing happens by itself during a test.
func patient() timing { return timing{alive: time.Hour, silence: time.Hour, farewell: time.Minute} }

// hasty is a timing in which a vanished end is noticed at once.
func hasty() timing {
	return timing{alive: 20 * time.Millisecond, silence: 3 * time.Second, farewell: 100 * time.Millisecond}
}

// pair returns both ends of a websocket: the one that dialed first.
func pair(t *testing.T) (near, far *websocket.Conn) {
	t.Helper()
	accepted := make(chan *websocket.Conn, 1)
	done := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		ws, err := websocket.Accept(w, q, nil)
		if err != nil {
			t.Error(err)
		}
		accepted <- ws
		<-done
	}))
	transport := &http.Transport{}
	near, _, err := websocket.Dial(t.Context(), s.URL, &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	far = <-accepted
	t.Cleanup(func() {
		_, _ = near.CloseNow(), far.CloseNow()
		close(done)
		transport.CloseIdleConnections()
		s.Close()
	})
	return near, far
}

// program is a program of a test: its function.
type program struct {
	stdin          io.Reader
	in             *io.PipeWriter
	stdout, stderr *io.PipeReader
	ended          chan struct{}
	code           int
	err            error

	mu      sync.Mutex // guards the fields below
	sizes   []stream.Size
	signals []string
}

// run starts a program. Its output is ended when f returns.
func run(f func(p *program, stdout, stderr io.Writer) (int, error)) *program {
	p := &program{ended: make(chan struct{})}
	var out, errs *io.PipeWriter
	p.stdin, p.in = io.Pipe()
	p.stdout, out = io.Pipe()
	p.stderr, errs = io.Pipe()
	go func() {
		defer close(p.ended)
		p.code, p.err = f(p, out, errs)
		_, _ = out.Close(), errs.Close()
	}()
	return p
}

func (p *program) Write(b []byte) (int, error) { return p.in.Write(b) }
func (p *program) CloseWrite() error           { return p.in.Close() }
func (p *program) Stdout() io.Reader           { return p.stdout }
func (p *program) Stderr() io.Reader           { return p.stderr }
func (p *program) Wait() (int, error)          { <-p.ended; return p.code, p.err }

func (p *program) Resize(s stream.Size) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sizes = append(p.sizes, s)
	return nil
}

func (p *program) Signal(name string) error {
	p.mu.Lock()
	p.signals = append(p.signals, name)
	p.mu.Unlock()
	return p.in.CloseWithError(errSignal)
}

var errSignal = errors.New("a signal")

func (p *program) Close() error {
	_, _, _ = p.in.CloseWithError(errSignal), p.stdout.CloseWithError(io.EOF), p.stderr.CloseWithError(io.EOF)
	return nil
}

// start serves a program at one end of a websocket and returns it as the other end has it. served returns
// the result of Serve.
func start(t *testing.T, tm timing, f func(p *program, stdout, stderr io.Writer) (int, error)) (p stream.Process, served func() error) {
	t.Helper()
	near, far := pair(t)
	result := make(chan error, 1)
	go func() { result <- serve(t.Context(), far, run(f), tm) }()
	p = open(t.Context(), near, tm)
	t.Cleanup(func() { _ = p.Close() })
	return p, sync.OnceValue(func() error { return <-result })
}

// output reads both outputs to the end.
func output(t *testing.T, p stream.Process) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	var both sync.WaitGroup
	both.Go(func() { _, _ = out.ReadFrom(p.Stdout()) })
	both.Go(func() { _, _ = errs.ReadFrom(p.Stderr()) })
	both.Wait()
	return out.String(), errs.String()
}

func TestProgramSendsOutputAndExitCode(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("0123456789", 100_000)
	p, served := start(t, patient(), func(p *program, stdout, stderr io.Writer) (int, error) {
		n, err := io.Copy(stdout, p.stdin)
		_, werr := io.WriteString(stderr, large)
		if n != int64(len(large)) {
			t.Errorf("got %d bytes of input, want %d", n, len(large))
		}
		return 7, errors.Join(err, werr)
	})
	go func() {
		_, err := io.WriteString(p, large)
		if err := errors.Join(err, p.CloseWrite()); err != nil {
			t.Error(err)
		}
	}()
	stdout, stderr := output(t, p)
	if stdout != large || stderr != large {
		t.Errorf("got %d and %d bytes of output, want %d each", len(stdout), len(stderr), len(large))
	}
	if code, err := p.Wait(); code != 7 || err != nil {
		t.Errorf("got %d, %v, want exit code 7", code, err)
	}
	if err := served(); err != nil {
		t.Errorf("serve: %v", err)
	}
	if _, err := p.Write([]byte("late")); err == nil {
		t.Error("a program that has ended takes input")
	}
}

func TestProgramWithoutExitCodeSendsReason(t *testing.T) {
	t.Parallel()
	why := "the container has ended" + strings.Repeat("!", 100_000)
	p, _ := start(t, patient(), func(*program, io.Writer, io.Writer) (int, error) { return 0, errors.New(why) })
	output(t, p)
	if _, err := p.Wait(); err == nil || err.Error() != why[:maxError] {
		t.Errorf("got %v, want the first characters of the reason", err)
	}
}

// A resize and a signal reach a program that does not read its input, of which more is waiting than fits.
func TestControlPassesUnreadInput(t *testing.T) {
	t.Parallel()
	began := make(chan struct{})
	p, _ := start(t, patient(), func(p *program, _, _ io.Writer) (int, error) {
		<-began
		for {
			p.mu.Lock()
			n := len(p.signals)
			p.mu.Unlock()
			if n > 0 {
				break
			}
			time.Sleep(time.Millisecond) //nolint:forbidigo // polls
		}
		if len(p.sizes) != 1 || p.sizes[0] != (stream.Size{Columns: 132, Rows: 50}) || p.signals[0] != "INT" {
			t.Errorf("got %v and %v", p.sizes, p.signals)
		}
		return 130, nil
	})
	stuffed := make(chan int, 1)
	go func() {
		n, err := p.Write(make([]byte, 16<<20))
		if err == nil {
			t.Error("all input was taken")
		}
		stuffed <- n
	}()
	r := p.(*remote)
	for r.unread.Load() < window {
		time.Sleep(time.Millisecond) //nolint:forbidigo // polls
	}
	if err := errors.Join(p.Resize(stream.Size{Columns: 132, Rows: 50}), p.Signal("INT")); err != nil {
		t.Fatal(err)
	}
	close(began)
	output(t, p)
	if code, err := p.Wait(); code != 130 || err != nil {
		t.Errorf("got %d, %v", code, err)
	}
	// What was dropped after the signal is taken too, so that the number is at least the window.
	if n := <-stuffed; n < window {
		t.Errorf("got %d bytes taken, want at least %d", n, window)
	}
}

// A program whose output nobody reads waits. Its end of the stream is not taken for a vanished one.
func TestSlowReaderKeepsStream(t *testing.T) {
	t.Parallel()
	p, served := start(t, hasty(), func(_ *program, stdout, _ io.Writer) (int, error) {
		_, err := stdout.Write(make([]byte, 32<<20))
		return 0, err
	})
	time.Sleep(3 * hasty().silence) //nolint:forbidigo // the time is the subject
	if stdout, _ := output(t, p); len(stdout) != 32<<20 {
		t.Errorf("got %d bytes", len(stdout))
	}
	if code, err := p.Wait(); code != 0 || err != nil {
		t.Errorf("got %d, %v", code, err)
	}
	if err := served(); err != nil {
		t.Errorf("serve: %v", err)
	}
}

func TestIdleStreamIsKept(t *testing.T) {
	t.Parallel()
	tm := hasty()
	p, _ := start(t, tm, func(p *program, stdout, _ io.Writer) (int, error) {
		_, err := io.Copy(stdout, p.stdin)
		return 0, err
	})
	time.Sleep(3 * tm.silence) //nolint:forbidigo // the time is the subject
	_, err := io.WriteString(p, "still here")
	if err := errors.Join(err, p.CloseWrite()); err != nil {
		t.Fatal(err)
	}
	if stdout, _ := output(t, p); stdout != "still here" {
		t.Errorf("got %q", stdout)
	}
}

func TestCloseEndsProgram(t *testing.T) {
	t.Parallel()
	p, served := start(t, patient(), func(p *program, _, _ io.Writer) (int, error) {
		_, err := io.Copy(io.Discard, p.stdin)
		if !errors.Is(err, errSignal) {
			t.Errorf("got %v, want the program ended", err)
		}
		return 0, err
	})
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if err := served(); !errors.Is(err, ErrLost) {
		t.Errorf("got %v, want %v", err, ErrLost)
	}
	if _, err := p.Wait(); err == nil {
		t.Error("a closed stream has an exit code")
	}
}

// An end that sends nothing anymore, as one whose machine has lost its power, ends the stream.
func TestVanishedEndIsNoticed(t *testing.T) {
	t.Parallel()
	t.Run("of a person", func(t *testing.T) {
		t.Parallel()
		_, far := pair(t)
		p := run(func(p *program, _, _ io.Writer) (int, error) { _, err := io.Copy(io.Discard, p.stdin); return 0, err })
		if err := serve(t.Context(), far, p, hasty()); !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), "silent") {
			t.Errorf("got %v, want %v", err, ErrLost)
		}
		<-p.ended
	})
	t.Run("of a container", func(t *testing.T) {
		t.Parallel()
		near, _ := pair(t)
		p := open(t.Context(), near, hasty())
		if _, err := p.Wait(); !errors.Is(err, ErrLost) {
			t.Errorf("got %v, want %v", err, ErrLost)
		}
		if _, err := p.Stdout().Read(make([]byte, 1)); !errors.Is(err, ErrLost) {
			t.Errorf("the output: got %v, want %v", err, ErrLost)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
}

// When the master stops, the person learns why the program was ended, even if its output was not read.
func TestDoneContextSendsCause(t *testing.T) {
	t.Parallel()
	near, far := pair(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	served := make(chan error, 1)
	program := run(func(p *program, _, _ io.Writer) (int, error) { _, err := io.Copy(io.Discard, p.stdin); return 0, err })
	go func() { served <- serve(ctx, far, program, patient()) }()
	p := open(t.Context(), near, patient())
	stopping := errors.New("the master is stopping")
	cancel(stopping)
	output(t, p)
	if _, err := p.Wait(); err == nil || err.Error() != stopping.Error() {
		t.Errorf("got %v, want %v", err, stopping)
	}
	_ = p.Close()
	if err := <-served; !errors.Is(err, stopping) {
		t.Errorf("serve: got %v, want %v", err, stopping)
	}
}

func TestDoneContextEndsStreamOfSlowReader(t *testing.T) {
	t.Parallel()
	near, far := pair(t)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	endless := run(func(_ *program, stdout, _ io.Writer) (int, error) { _, err := io.Copy(stdout, zeros{}); return 0, err })
	go func() { served <- serve(ctx, far, endless, hasty()) }()
	p := open(t.Context(), near, patient())
	cancel()
	if err := <-served; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	_ = p.Close()
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestInvalidMessagesEndStream(t *testing.T) {
	t.Parallel()
	for name, m := range map[string][]byte{
		"a large message":      make([]byte, MaxPayload+2),
		"an unknown kind":      {9},
		"an empty message":     {},
		"output to a program":  {byte(stdout), 'x'},
		"control, not of JSON": {byte(command), '{'},
	} {
		near, far := pair(t)
		served := make(chan error, 1)
		p := run(func(p *program, _, _ io.Writer) (int, error) { _, err := io.Copy(io.Discard, p.stdin); return 0, err })
		go func() { served <- serve(t.Context(), far, p, patient()) }()
		if err := near.Write(t.Context(), websocket.MessageBinary, m); err != nil {
			t.Fatal(err)
		}
		if err := <-served; !errors.Is(err, ErrLost) {
			t.Errorf("%s: got %v, want %v", name, err, ErrLost)
		}
	}
}

func TestInputBeyondWindowEndsStream(t *testing.T) {
	t.Parallel()
	near, far := pair(t)
	served := make(chan error, 1)
	unread := run(func(p *program, stdout, _ io.Writer) (int, error) {
		_, err := io.Copy(stdout, zeros{}) // blocks, because nobody reads the output
		return 0, err
	})
	go func() { served <- serve(t.Context(), far, unread, patient()) }()
	for range window/MaxPayload + 2 { // one chunk is on its way to the program
		if near.Write(t.Context(), websocket.MessageBinary, make([]byte, MaxPayload)) != nil {
			break
		}
	}
	if err := <-served; !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), errWindow.Error()) {
		t.Errorf("got %v, want %v", err, errWindow)
	}
}

func TestReceiptOfMoreThanWasSentEndsStream(t *testing.T) {
	t.Parallel()
	near, far := pair(t)
	p := open(t.Context(), near, patient())
	if err := far.Write(t.Context(), websocket.MessageBinary, control{Taken: 1}.encode()); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(); !errors.Is(err, ErrLost) {
		t.Errorf("got %v, want %v", err, ErrLost)
	}
	_ = p.Close()
}

func TestNoDescriptorIsLeft(t *testing.T) {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip("needs /proc")
	}
	count := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	before := count()
	for range 20 {
		t.Run("", func(t *testing.T) {
			p, served := start(t, patient(), func(*program, io.Writer, io.Writer) (int, error) { return 3, nil })
			output(t, p)
			if code, err := p.Wait(); code != 3 || err != nil {
				t.Errorf("got %d, %v", code, err)
			}
			_ = p.Close()
			_ = served()
		})
	}
	for deadline := time.Now().Add(time.Minute); count() > before+2; time.Sleep(time.Millisecond) { //nolint:forbidigo // polls
		if time.Now().After(deadline) {
			t.Fatalf("got %d descriptors, %d before", count(), before)
		}
	}
}

func TestLostConnectionsAreToldInOneSentence(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"the connection to the container was lost":                           fmt.Errorf("failed to get reader: failed to read frame header: %w", io.EOF),
		"the connection to the container was lost: connection reset by peer": fmt.Errorf("failed to read: %w", &net.OpError{Op: "read", Err: syscall.ECONNRESET}),
		"the connection to the container was lost: upgrade the agent":        fmt.Errorf("failed: %w", websocket.CloseError{Code: websocket.StatusPolicyViolation, Reason: "upgrade the agent"}),
		"the connection to the container was lost: read limited":             errors.New("read limited"),
	} {
		if got := lost(err); got.Error() != want || !errors.Is(got, ErrLost) {
			t.Errorf("got %v, want %s", got, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte{0, 'x'})
	f.Add(control{Resize: &stream.Size{Columns: 80, Rows: 24}}.encode())
	f.Add([]byte("\x03{\"exit\":3}"))
	f.Add([]byte("\x03null"))
	f.Fuzz(func(t *testing.T, data []byte) {
		k, payload, c, err := decode(data)
		if err == nil && (k > command || len(payload) > MaxPayload) {
			t.Errorf("%q: got kind %d and %d bytes", data, k, len(payload))
		}
		if err == nil && k == command {
			if _, _, again, err := decode(c.encode()); err != nil || c.Taken != again.Taken || c.CloseStdin != again.CloseStdin {
				t.Errorf("%q: got %+v and %v, want %+v", data, again, err, c)
			}
		}
	})
}
