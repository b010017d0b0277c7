package agent

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/det-deploy/det-deploy/internal/stream/frames"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// serveStream accepts a stream that the agent opens with its credential.
func (p *peer) serveStream(w http.ResponseWriter, r *http.Request) {
	if got := r.Header.Get("Authorization"); got != "Bearer paper" {
		p.mu.Lock()
		p.faultf("a stream with the credential %q", got)
		p.mu.Unlock()
	}
	ws, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	p.opened <- ws
}

// order orders a stream into a container. It returns the websocket, or why there is none.
func (p *peer) order(container string, o *agentv1.OpenStream) (*websocket.Conn, *agentv1.StreamFailed) {
	p.t.Helper()
	o.StreamId, o.ContainerId = "s", container
	p.send(&agentv1.MasterMessage{Body: &agentv1.MasterMessage_OpenStream{OpenStream: o}})
	select {
	case ws := <-p.opened:
		return ws, nil
	case f := <-p.failed:
		return nil, f
	case <-time.After(20 * time.Second):
		p.t.Fatal("the agent does not answer")
		return nil, nil
	}
}

func toPort(n int) *agentv1.OpenStream {
	return &agentv1.OpenStream{Open: &agentv1.OpenStream_Port{Port: int32(n)}}
}

// exec runs a shell script inside a container.
func (p *peer) exec(container, script string) frames.Remote {
	p.t.Helper()
	ws, f := p.order(container, &agentv1.OpenStream{Open: &agentv1.OpenStream_Program{Program: &agentv1.Program{Argv: []string{"sh", "-c", script}}}})
	if ws == nil {
		p.t.Fatalf("the program is not started: %v", f)
	}
	r := frames.Open(p.t.Context(), ws)
	p.t.Cleanup(func() { _ = r.Close() })
	go func() { _, _ = io.Copy(io.Discard, r.Stderr()) }()
	return r
}

func TestStreamsIntoTask(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	set := settings(t, p)
	r := run(t, set)
	p.start("c", "export LATER=no; sleep 1000", func(o *agentv1.Start) { o.Spec.Environment = []string{"MINE=yes"} })
	p.awaitState("c", apiv1.Container_STATE_RUNNING)
	program := p.exec("c", `read line; echo "$line $MINE"; exit 3`)
	if _, err := io.WriteString(program, "hello\n"); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(program.Stdout()); string(got) != "hello yes\n" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if code, err := program.Wait(); code != 3 || err != nil {
		t.Errorf("got %d, %v", code, err)
	}
	if _, f := p.order("c", toPort(1)); !strings.Contains(f.GetReason(), "refused") {
		t.Errorf("a port on which nothing listens: got %v", f)
	}
	// Open streams end with the agent, and the task does not.
	open := p.exec("c", "sleep 1000")
	r.halt()
	if _, err := open.Wait(); err == nil {
		t.Error("a program has an exit code though its agent has stopped")
	}
	p.disconnect()
	run(t, set)
	p.await("a connection", func() bool { return len(p.hellos) > 1 && p.conn != nil })
	again := p.exec("c", "echo back")
	if got, err := io.ReadAll(again.Stdout()); string(got) != "back\n" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	p.signal("c", agentv1.Signal_KIND_KILL, 0)
	p.awaitEnd("c")
}

func TestTaskEndsWithOpenStreams(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	run(t, settings(t, p))
	p.start("c", "sleep 1000")
	p.awaitState("c", apiv1.Container_STATE_RUNNING)
	var all []frames.Remote
	for range 10 {
		program := p.exec("c", "echo ready; sleep 1000")
		if _, err := io.ReadFull(program.Stdout(), make([]byte, len("ready\n"))); err != nil {
			t.Fatal(err)
		}
		all = append(all, program)
	}
	p.signal("c", agentv1.Signal_KIND_KILL, 0)
	p.awaitEnd("c")
	for _, program := range all {
		if _, err := io.Copy(io.Discard, program.Stdout()); err != nil {
			t.Logf("the output ended with %v", err)
		}
		if code, err := program.Wait(); code == 0 && err == nil {
			t.Error("a program of a task that was killed has ended well")
		}
	}
}

func TestStreamIntoUnknownContainerIsRefused(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	run(t, settings(t, p))
	p.await("a connection", func() bool { return p.conn != nil })
	if _, f := p.order("unknown", toPort(80)); f.GetKind() != agentv1.StreamFailed_KIND_NOT_RUNNING || f.GetStreamId() != "s" {
		t.Errorf("got %v", f)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.hellos[0].GetStreams() {
		t.Error("the hello does not say that the agent opens streams")
	}
}
