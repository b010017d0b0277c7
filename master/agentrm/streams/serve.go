package streams

import (
	"errors"
	"net/http"
	"strings"

	"github.com/coder/websocket"

	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/token"
)

// ServeStream serves the websocket with which an agent answers the order of a stream, until the stream has
// ended. Who does not know the ID of an order gets no answer but that, and nobody a second time.
func (s *Streams) ServeStream(w http.ResponseWriter, req *http.Request, id string) {
	o := s.find(id)
	if o == nil {
		http.Error(w, "there is no such stream; it was not asked for, or not opened in time", http.StatusNotFound)
		return
	}
	defer s.serving.Done()
	credential := strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer ")
	if err := s.cfg.Check(req, o.agent, token.Text(credential)); err != nil {
		s.cfg.Log.Warn("stream refused", "agent_id", o.agent, "address", req.RemoteAddr, "err", err)
		http.Error(w, "the credential is not that of the agent which was asked", http.StatusForbidden)
		return
	}
	if !s.take(o) {
		http.Error(w, "the stream is already open", http.StatusConflict)
		return
	}
	s.serve(w, req, o)
}

// serve serves the answer to an order.
func (s *Streams) serve(w http.ResponseWriter, req *http.Request, o *Order) {
	ws, err := websocket.Accept(w, req, nil)
	if err != nil {
		o.answer <- &rm.UnreachableError{Reason: "agent " + string(o.agent) + " did not open the stream properly: " + excerpt.Message(err.Error())}
		return
	}
	defer func() { _ = ws.CloseNow() }()
	s.cfg.Admitted(req.Context())
	ended := o.open(ws)
	o.answer <- nil
	<-ended // o.ctx ends it too
	o.cancel(errEnded)
}

// find returns the order of an ID and counts its request, or nil.
func (s *Streams) find(id string) *Order {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.orders[id]
	if o == nil || o.open == nil || s.stopped != nil {
		return nil
	}
	s.serving.Add(1)
	return o
}

// take reports whether an order is answered for the first time.
func (s *Streams) take(o *Order) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.taken || o.ctx.Err() != nil {
		return false
	}
	o.taken = true
	return true
}

// Fail notes an agent's reason for not opening a stream. What another agent was asked, or what is open, is
// not affected.
func (s *Streams) Fail(agent rm.AgentID, m *agentv1.StreamFailed) {
	s.mu.Lock()
	o := s.orders[m.GetStreamId()]
	s.mu.Unlock()
	if o != nil && o.agent == agent && s.take(o) {
		o.answer <- reasonOf(agent, m)
	}
}

func reasonOf(agent rm.AgentID, m *agentv1.StreamFailed) error {
	reason := excerpt.UpTo(m.GetReason(), maxReason)
	switch m.GetKind() {
	case agentv1.StreamFailed_KIND_NOT_RUNNING:
		return rm.ErrNotRunning
	case agentv1.StreamFailed_KIND_CANNOT_ENTER:
		return &rm.UnreachableError{Reason: "agent " + string(agent) + " cannot enter its containers: " + reason}
	case agentv1.StreamFailed_KIND_UNSPECIFIED:
	}
	if reason == "" {
		return errors.New("the agent gives no reason")
	}
	return &rm.RefusedError{Reason: reason}
}

// maxReason is the maximum length of an agent's reason in characters.
const maxReason = 1000
