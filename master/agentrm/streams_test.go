package agentrm

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/det-deploy/det-deploy/internal/stream"
	"github.com/det-deploy/det-deploy/internal/stream/frames"
	"github.com/det-deploy/det-deploy/master/agentrm/link"
	"github.com/det-deploy/det-deploy/master/agentrm/streams"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/rm"
)

func opens(h *agentv1.Hello) { h.Streams = true }

// runs starts a task on an agent, and returns its container.
func (p *peer) runs(task string) (*agentv1.Start, rm.ContainerID) {
	p.t.Helper()
	p.of.submit(task, 1)
	s := p.started()
	p.reports(s, running)
	p.of.until("the container runs", func() bool {
		found := p.of.state.findContainer(rm.ContainerID(s.GetContainerId()))
		p.of.state.mu.Lock()
		defer p.of.state.mu.Unlock()
		return found.state == running
	})
	return s, rm.ContainerID(s.GetContainerId())
}

// ordered waits for an order to open a stream.
func (p *peer) ordered() *agentv1.OpenStream {
	p.t.Helper()
	m := p.next()
	if m.GetOpenStream() == nil {
		p.t.Fatalf("got %v, want an order of a stream", m)
	}
	return m.GetOpenStream()
}

// answer opens the websocket of a stream with a credential. It returns the status of a refusal.
func (p *peer) answer(id, credential string) (*websocket.Conn, int) {
	p.t.Helper()
	transport := &http.Transport{}
	p.t.Cleanup(transport.CloseIdleConnections)
	ws, res, err := websocket.Dial(p.t.Context(), p.of.server.URL+"/agents/streams/"+id, &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: transport}, HTTPHeader: http.Header{"Authorization": {"Bearer " + credential}},
	})
	if err != nil {
		if res == nil {
			p.t.Fatal(err)
		}
		return nil, res.StatusCode
	}
	p.t.Cleanup(func() { _ = ws.CloseNow() })
	return ws, 0
}

func (p *peer) fails(o *agentv1.OpenStream, kind agentv1.StreamFailed_Kind, reason string) {
	p.t.Helper()
	p.say(&agentv1.AgentMessage{Body: &agentv1.AgentMessage_StreamFailed{StreamFailed: &agentv1.StreamFailed{
		StreamId: o.GetStreamId(), Kind: kind, Reason: reason,
	}}})
}

// dialing dials a container while the test answers for the agent.
func (c *cluster) dialing(id rm.ContainerID) func() (net.Conn, error) {
	type result struct {
		conn net.Conn
		err  error
	}
	done := make(chan result, 1)
	go func() {
		conn, err := c.Dial(c.t.Context(), id, 8888)
		done <- result{conn, err}
	}()
	return func() (net.Conn, error) { r := <-done; return r.conn, r.err }
}

// withCredentials admits each agent with its id as the credential.
func withCredentials(c *cluster) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.door = func(p JoinProof) (Identity, error) {
		if p.Credential != "" && string(p.Credential) != string(p.Agent) {
			return Identity{}, &link.Refused{Reason: "no such credential"}
		}
		return Identity{Agent: p.Agent}, nil
	}
}

func TestConnectionIntoContainer(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, _ := c.join("a", 1, opens)
	_, id := a.runs("t")
	dialed := c.dialing(id)
	o := a.ordered()
	if o.GetContainerId() != string(id) || o.GetPort() != 8888 {
		t.Errorf("got order %v", o)
	}
	ws, _ := a.answer(o.GetStreamId(), "")
	inside := frames.NewConn(t.Context(), ws)
	conn, err := dialed()
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(inside, inside); _ = inside.Close() }()
	if _, err := io.WriteString(conn, "echo"); err != nil {
		t.Fatal(err)
	}
	if err := conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(conn); string(got) != "echo" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	_ = conn.Close()
	c.noStreams()
}

// noStreams waits until no place is taken.
func (c *cluster) noStreams() {
	c.t.Helper()
	c.until("no stream is left", func() bool { return c.state.streams.Open() == 0 })
}

func TestProgramInContainer(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, _ := c.join("a", 1, opens)
	_, id := a.runs("t")
	size := stream.Size{Columns: 80, Rows: 24}
	var p stream.Process
	started := make(chan error, 1)
	go func() {
		var err error
		p, err = c.Exec(t.Context(), id, stream.Program{Argv: []string{"top", "-b"}, Terminal: &size})
		started <- err
	}()
	o := a.ordered()
	if argv := o.GetProgram().GetArgv(); len(argv) != 2 || argv[0] != "top" || o.GetProgram().GetTerminal().GetRows() != 24 {
		t.Errorf("got order %v", o)
	}
	ws, _ := a.answer(o.GetStreamId(), "")
	go func() { _ = frames.Serve(t.Context(), ws, newScripted("hello", 3, nil)) }()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, p.Stderr()) }()
	if got, err := io.ReadAll(p.Stdout()); string(got) != "hello" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if code, err := p.Wait(); code != 3 || err != nil {
		t.Errorf("got %d, %v", code, err)
	}
	c.noStreams()
}

// scripted is a program that reads its input to the end, and then has its output, code and error.
type scripted struct {
	in     bytes.Buffer
	closed chan struct{}
	once   sync.Once
	out    string
	code   int
	err    error
}

func newScripted(out string, code int, err error) *scripted {
	return &scripted{closed: make(chan struct{}), out: out, code: code, err: err}
}

func (s *scripted) Write(p []byte) (int, error) { return s.in.Write(p) }
func (s *scripted) CloseWrite() error           { s.once.Do(func() { close(s.closed) }); return nil }
func (s *scripted) Stdout() io.Reader           { return strings.NewReader(s.out) }
func (s *scripted) Stderr() io.Reader           { return strings.NewReader("") }
func (s *scripted) Resize(stream.Size) error    { return nil }
func (s *scripted) Signal(string) error         { return nil }
func (s *scripted) Wait() (int, error)          { return s.code, s.err }
func (s *scripted) Close() error                { return s.CloseWrite() }

// unpacking ends with its input.
type unpacking struct{ *scripted }

func (u unpacking) Wait() (int, error) { <-u.closed; return u.code, u.err }

func TestFilesOfContainer(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, _ := c.join("a", 1, opens)
	_, id := a.runs("t")
	for _, why := range []error{nil, errors.New("no space left on device")} {
		serving := make(chan *scripted, 1)
		go func() {
			o := a.ordered()
			p := newScripted("an archive", 0, why)
			if o.GetReadPath() != "/data" && o.GetWriteDir() != "/data" {
				t.Errorf("got order %v", o)
			}
			ws, _ := a.answer(o.GetStreamId(), "")
			var served stream.Process = p
			if o.GetWriteDir() != "" {
				served = unpacking{p}
			}
			_ = frames.Serve(t.Context(), ws, served)
			serving <- p
		}()
		r, err := c.ReadFiles(t.Context(), id, "/data")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); string(got) != "an archive" || (err == nil) != (why == nil) {
			t.Errorf("got %q, %v, want %v", got, err, why)
		}
		_ = r.Close()
		<-serving
		go func() {
			o := a.ordered()
			ws, _ := a.answer(o.GetStreamId(), "")
			p := newScripted("", 0, why)
			_ = frames.Serve(t.Context(), ws, unpacking{p})
			serving <- p
		}()
		var large bytes.Buffer
		w := tar.NewWriter(&large)
		if err := w.WriteHeader(&tar.Header{Name: "zeros", Size: 2 << 20, Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write(make([]byte, 2<<20))
		if err := c.WriteFiles(t.Context(), id, "/data", bytes.NewReader(large.Bytes())); (err == nil) != (why == nil) {
			t.Errorf("got %v, want %v", err, why)
		}
		if p := <-serving; why == nil && !bytes.Equal(p.in.Bytes(), large.Bytes()) {
			t.Errorf("got %d bytes, want %d", p.in.Len(), large.Len())
		}
	}
	c.noStreams()
}

func TestReasonsWithoutStream(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, _ := c.join("a", 1, opens)
	s, id := a.runs("t")
	for kind, want := range map[agentv1.StreamFailed_Kind]error{
		agentv1.StreamFailed_KIND_NOT_RUNNING:  rm.ErrNotRunning,
		agentv1.StreamFailed_KIND_CANNOT_ENTER: &rm.UnreachableError{Reason: "agent a cannot enter its containers: why"},
		agentv1.StreamFailed_KIND_UNSPECIFIED:  &rm.RefusedError{Reason: "why"},
	} {
		dialed := c.dialing(id)
		a.fails(a.ordered(), kind, "why")
		if _, err := dialed(); err == nil || err.Error() != want.Error() {
			t.Errorf("%v: got %v, want %v", kind, err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Dial(ctx, id, 80); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	a.ordered()
	if _, err := c.Dial(t.Context(), "unknown", 80); !errors.Is(err, rm.ErrNotRunning) {
		t.Errorf("an unknown container: got %v", err)
	}
	c.leave(a)
	if _, err := c.Dial(t.Context(), id, 80); err == nil || !strings.Contains(err.Error(), "agent a is not connected") {
		t.Errorf("an agent that is away: got %v", err)
	}
	a, _ = c.join("a", 1, has(string(id), rm.AllocationID(s.GetAllocationId())), func(h *agentv1.Hello) { h.Version = "0.9" })
	if _, err := c.Dial(t.Context(), id, 80); err == nil || err.Error() != "agent a runs version 0.9, which cannot open streams; upgrade it" {
		t.Errorf("an earlier agent: got %v", err)
	}
	a.quiet()
	a.reports(s, terminated, 0)
	if _, err := c.Dial(t.Context(), id, 80); !errors.Is(err, rm.ErrNotRunning) {
		t.Errorf("a container that has ended: got %v", err)
	}
	c.noStreams()
}

func TestLateAnswerIsRefused(t *testing.T) {
	t.Parallel()
	c := newCluster(t, streamTime(200*time.Millisecond))
	a, _ := c.join("a", 1, opens)
	_, id := a.runs("t")
	if _, err := c.Dial(t.Context(), id, 80); err == nil || !strings.Contains(err.Error(), "agent a did not open the stream within 200ms") {
		t.Errorf("an agent that does not answer: got %v", err)
	}
	if ws, code := a.answer(a.ordered().GetStreamId(), ""); ws != nil || code != http.StatusNotFound {
		t.Errorf("an answer that is late: got %d", code)
	}
	c.noStreams()
}

func TestForgedAnswersAreRefused(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	withCredentials(c)
	a, _ := c.join("a", 1, opens)
	_, id := a.runs("t")
	b, _ := c.join("b", 0, opens)
	dialed := c.dialing(id)
	o := a.ordered()
	for name, row := range map[string]struct {
		id, credential string
		want           int
	}{
		"a guessed stream":          {"ABCDEF", "a", http.StatusNotFound},
		"no stream":                 {"", "a", http.StatusNotFound},
		"another agent":             {o.GetStreamId(), "b", http.StatusForbidden},
		"an unknown credential":     {o.GetStreamId(), "stolen", http.StatusForbidden},
		"more than the stream's ID": {o.GetStreamId() + "/x", "a", http.StatusNotFound},
	} {
		if ws, code := b.answer(row.id, row.credential); ws != nil || code != row.want {
			t.Errorf("%s: got status %d, want %d", name, code, row.want)
		}
	}
	b.fails(o, agentv1.StreamFailed_KIND_NOT_RUNNING, "") // what another agent says counts for nothing
	b.reports(&agentv1.Start{ContainerId: "gone"}, terminated, 0)
	ws, code := a.answer(o.GetStreamId(), "a")
	if code != 0 {
		t.Fatalf("got status %d", code)
	}
	if again, code := a.answer(o.GetStreamId(), "a"); again != nil || code != http.StatusConflict {
		t.Errorf("an answer for the second time: got status %d", code)
	}
	conn, err := dialed()
	if err != nil {
		t.Fatal(err)
	}
	a.fails(o, agentv1.StreamFailed_KIND_NOT_RUNNING, "") // too late
	inside := frames.NewConn(t.Context(), ws)
	if _, err := io.WriteString(inside, "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		t.Errorf("the stream that is open: %v", err)
	}
	_ = conn.Close()
}

// open dials a container and answers as its agent.
func (c *cluster) open(a *peer, id rm.ContainerID) (outside net.Conn, ws *websocket.Conn) {
	c.t.Helper()
	dialed := c.dialing(id)
	ws, code := a.answer(a.ordered().GetStreamId(), "")
	if ws == nil {
		c.t.Fatalf("got status %d", code)
	}
	outside, err := dialed()
	if err != nil {
		c.t.Fatal(err)
	}
	return outside, ws
}

func TestStreamsEndWithTheirOwners(t *testing.T) {
	t.Parallel()
	const killed = "an agent that is killed"
	for name, row := range map[string]struct {
		end  func(c *cluster)
		want string
	}{
		"an agent that is removed": {func(c *cluster) { c.Expel("a", "its machine is stolen") }, "its machine is stolen"},
		"an agent that is gone":    {func(c *cluster) { c.Remove("a", "its machine is gone") }, "its machine is gone"},
		"a master that stops":      {func(c *cluster) { c.restart() }, "the master is stopping"},
		killed:                     {func(*cluster) {}, frames.ErrLost.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			a, _ := c.join("a", 1, opens)
			_, id := a.runs("t")
			process, kill := context.WithCancel(t.Context())
			defer kill()
			var all []net.Conn
			var ends []*frames.Conn
			for range 10 {
				outside, ws := c.open(a, id)
				all, ends = append(all, outside), append(ends, frames.NewConn(process, ws))
			}
			if name == killed {
				kill()
				a.hangUp()
			} else {
				waiting := c.dialing(id)
				a.ordered()
				row.end(c)
				if _, err := waiting(); err == nil || !strings.Contains(err.Error(), row.want) {
					t.Errorf("the one that is waiting: got %v, want %q", err, row.want)
				}
			}
			for _, conn := range all {
				if _, err := io.ReadAll(conn); err == nil || !strings.Contains(err.Error(), row.want) {
					t.Errorf("got %v, want %q", err, row.want)
				}
			}
			for _, e := range ends {
				<-e.Done()
			}
			c.noStreams()
		})
	}
}

// Streams of a container that has ended are left to their ends for a moment. Places, goroutines and
// descriptors are free afterwards.
func TestContainerEndsWithOpenStreams(t *testing.T) {
	c := newCluster(t)
	a, _ := c.join("a", 1, opens)
	s, id := a.runs("t")
	goroutines, descriptors := runtime.NumGoroutine(), countDescriptors(t)
	var all []net.Conn
	for range 10 {
		outside, ws := c.open(a, id)
		inside := frames.NewConn(t.Context(), ws)
		go func() { // as the kernel does with the sockets of a process that ends
			_, _ = io.WriteString(inside, "last words")
			_, _ = io.Copy(io.Discard, inside)
			_ = inside.Close()
		}()
		all = append(all, outside)
	}
	a.reports(s, terminated, 0)
	for _, conn := range all {
		if _, err := io.ReadFull(conn, make([]byte, len("last words"))); err != nil {
			t.Errorf("the last words: %v", err)
		}
		_ = conn.Close()
	}
	c.noStreams()
	c.until("goroutines and descriptors are free", func() bool {
		return runtime.NumGoroutine() <= goroutines+2 && countDescriptors(t) <= descriptors+2
	})
}

// A stream whose ends do not notice that their container has ended is cut.
func TestEndedContainerKeepsNoStream(t *testing.T) {
	t.Parallel()
	c := newCluster(t, streamTime(3*time.Second)) // which the test has to open the stream, too
	a, _ := c.join("a", 1, opens)
	s, id := a.runs("t")
	conn, _ := c.open(a, id)
	a.reports(s, terminated, 0)
	if _, err := io.ReadAll(conn); !errors.Is(err, rm.ErrNotRunning) {
		t.Errorf("got %v, want %v", err, rm.ErrNotRunning)
	}
	c.noStreams()
}

func streamTime(d time.Duration) func(*Config) {
	return func(c *Config) {
		c.Limits = link.DefaultLimits()
		c.Limits.Stream = d
	}
}

func countDescriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("needs /proc")
	}
	return len(list)
}

func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, _ := c.join("a", 2, opens)
	_, id := a.runs("t")
	_, other := a.runs("u")
	ctx, cancel := context.WithCancel(t.Context())
	var dials sync.WaitGroup
	var mu sync.Mutex
	refused := 0
	for range 1000 {
		dials.Go(func() {
			_, err := c.Dial(ctx, id, 80)
			mu.Lock()
			defer mu.Unlock()
			if errors.Is(err, rm.ErrTooManyStreams) {
				refused++
			}
		})
	}
	c.until("all are refused but those that fit", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return refused == 1000-streams.PerContainer
	})
	if _, err := c.Exec(ctx, id, stream.Program{Argv: []string{"true"}}); !errors.Is(err, rm.ErrTooManyStreams) {
		t.Errorf("a program: got %v, want %v", err, rm.ErrTooManyStreams)
	}
	for range streams.ProgramsPerContainer {
		dials.Go(func() { _, _ = c.Exec(ctx, other, stream.Program{Argv: []string{"true"}}) })
	}
	c.until("programs fill their places", func() bool {
		return c.state.streams.Open() == streams.PerContainer+streams.ProgramsPerContainer
	})
	if _, err := c.Exec(ctx, other, stream.Program{Argv: []string{"true"}}); !errors.Is(err, rm.ErrTooManyStreams) {
		t.Errorf("another program: got %v, want %v", err, rm.ErrTooManyStreams)
	}
	dials.Go(func() { _, _ = c.Dial(ctx, other, 80) }) // a port has places of its own
	c.until("a connection fits", func() bool {
		return c.state.streams.Open() == streams.PerContainer+streams.ProgramsPerContainer+1
	})
	cancel()
	dials.Wait()
	c.noStreams()
}
