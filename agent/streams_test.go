package agent

import (
	"net/http"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
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

// order orders a connection to a port of a container. It returns the websocket, or why there is none.
func (p *peer) order(container string, port int32) (*websocket.Conn, *agentv1.StreamFailed) {
	p.t.Helper()
	p.send(&agentv1.MasterMessage{Body: &agentv1.MasterMessage_OpenStream{OpenStream: &agentv1.OpenStream{
		StreamId: "s", ContainerId: container, Open: &agentv1.OpenStream_Port{Port: port},
	}}})
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

func TestStreamIntoUnknownContainerIsRefused(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	run(t, settings(t, p))
	p.await("a connection", func() bool { return p.conn != nil })
	if _, f := p.order("unknown", 80); f.GetKind() != agentv1.StreamFailed_KIND_NOT_RUNNING || f.GetStreamId() != "s" {
		t.Errorf("got %v", f)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.hellos[0].GetStreams() {
		t.Error("the hello does not say that the agent opens streams")
	}
}
