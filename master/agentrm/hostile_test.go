package agentrm

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/master/agentrm/link"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func TestInvalidHellosAreRefused(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.mu.Lock()
	c.door = func(p JoinProof) (Identity, error) {
		switch p.Credential {
		case "old":
			return Identity{}, &link.Refused{Reason: "the credential is revoked", Rejoin: true}
		case "broken":
			return Identity{}, errors.New("no such key")
		case "stolen":
			return Identity{Agent: "someone-else"}, nil
		case "pooled":
			return Identity{Agent: p.Agent, Pool: "other"}, nil
		}
		return Identity{Agent: p.Agent}, nil
	}
	c.mu.Unlock()
	c.join("twin", 1)
	for name, row := range map[string]struct {
		change func(*agentv1.Hello)
		want   string
		final  bool
		rejoin bool
	}{
		"a newer protocol":                   {func(h *agentv1.Hello) { h.Protocol = agentv1.Protocol + 1 }, "install an agent of the master's version (1.2.3)", true, false},
		"no protocol":                        {func(h *agentv1.Hello) { h.Protocol = 0 }, "uses protocol version 0", true, false},
		"no id":                              {func(h *agentv1.Hello) { h.AgentId = "" }, "must be 1 to 255", true, false},
		"an id that breaks lines":            {func(h *agentv1.Hello) { h.AgentId = "a\nb" }, "must be 1 to 255", true, false},
		"an id that is connected":            {func(h *agentv1.Hello) { h.AgentId = "twin" }, "agent twin is already connected", false, false},
		"a pool that is not there":           {func(h *agentv1.Hello) { h.ResourcePool = "gpu" }, `there is no resource pool "gpu"`, true, false},
		"a device twice":                     {func(h *agentv1.Hello) { h.Devices = append(h.Devices, h.GetDevices()[0]) }, "twice", true, false},
		"a device id below zero":             {func(h *agentv1.Hello) { h.Devices[0].Id = -1 }, "negative", true, false},
		"an absurd number of devices":        {func(h *agentv1.Hello) { h.Devices = greeting("a", 1025).GetDevices() }, "the maximum is 1024", true, false},
		"a revoked credential":               {func(h *agentv1.Hello) { h.Credential = "old" }, "revoked", false, true},
		"a gate that cannot answer":          {func(h *agentv1.Hello) { h.Credential = "broken" }, "cannot check", false, false},
		"somebody else's credential":         {func(h *agentv1.Hello) { h.Credential = "stolen" }, "belongs to agent someone-else", true, false},
		"another pool than admitted":         {func(h *agentv1.Hello) { h.Credential, h.ResourcePool = "pooled", "default" }, `admitted to resource pool "other"`, true, false},
		"an internal error is not disclosed": {func(h *agentv1.Hello) { h.Credential = "broken" }, "try again", false, false},
	} {
		h := greeting("new", 1)
		row.change(h)
		p := c.dial()
		p.say(&agentv1.AgentMessage{Body: &agentv1.AgentMessage_Hello{Hello: h}})
		got := p.refused()
		if !strings.Contains(got.GetReason(), row.want) || got.GetFinal() != row.final || got.GetRejoin() != row.rejoin {
			t.Errorf("%s: got %v, want %q, final %v, rejoin %v", name, got, row.want, row.final, row.rejoin)
		}
		if strings.Contains(got.GetReason(), "no such key") {
			t.Errorf("%s: got reason %q, want one without internal details", name, got.GetReason())
		}
	}
	if n := len(c.Agents()); n != 1 {
		t.Errorf("got %d agents, want only the twin", n)
	}
}

func TestProtocolViolationsAreRefused(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, _ := c.join("a", 1)
	c.submit("t", 1)
	s := a.started()
	for name, row := range map[string]struct {
		say  func(*peer)
		want string
	}{
		"text": {func(p *peer) {
			if err := p.conn.Write(t.Context(), websocket.MessageText, []byte("hello")); err != nil {
				t.Error(err)
			}
		}, "binary protobuf"},
		"noise": {func(p *peer) {
			if err := p.conn.Write(t.Context(), websocket.MessageBinary, []byte{0xff, 0xff}); err != nil {
				t.Error(err)
			}
		}, "an invalid message"},
		"a second hello": {func(p *peer) {
			p.say(&agentv1.AgentMessage{Body: &agentv1.AgentMessage_Hello{Hello: greeting("b", 1)}})
		}, "sent a second hello"},
		"another agent's container": {func(p *peer) { p.change(s, terminated, 0) }, "of another agent"},
		"another agent's log": {func(p *peer) {
			p.say(&agentv1.AgentMessage{Body: &agentv1.AgentMessage_Logs{Logs: &agentv1.Logs{ContainerId: s.GetContainerId()}}})
		}, "of another agent"},
		"another agent's start": {func(p *peer) { p.received(s) }, "of another agent"},
		"a state that there is not": {func(p *peer) {
			p.change(&agentv1.Start{ContainerId: "x"}, apiv1.Container_State(77))
		}, "reports unknown state"},
	} {
		p, _ := c.join("b", 0)
		row.say(p)
		if got := p.refused(); !strings.Contains(got.GetReason(), row.want) || !got.GetFinal() {
			t.Errorf("%s: got %v, want %q for good", name, got, row.want)
		}
		c.leave(p)
	}
	mute := c.dial()
	mute.say(&agentv1.AgentMessage{Body: &agentv1.AgentMessage_Received{Received: &agentv1.Received{}}})
	if got := mute.refused(); !strings.Contains(got.GetReason(), "must be its hello") {
		t.Errorf("no hello: got %v", got)
	}
	a.reports(s, terminated, 0) // the well-behaved agent is served as before
}

func TestMessageForDeletedContainerIsAcknowledged(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, _ := c.join("a", 1)
	a.reports(&agentv1.Start{ContainerId: "long-gone", AllocationId: "old.1"}, terminated, 0)
	a.received(&agentv1.Start{ContainerId: "long-gone"})
	a.say(&agentv1.AgentMessage{}) // of a later version
	c.submit("t", 1)
	a.started()
}

func TestDeviceChangeIsRefusedWhileContainersRun(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, _ := c.join("a", 2)
	c.submit("t", 1)
	s := a.started()
	c.leave(a)
	for name, change := range map[string]func(*agentv1.Hello){
		"fewer devices":  func(h *agentv1.Hello) { h.Devices = h.GetDevices()[:1] },
		"another device": func(h *agentv1.Hello) { h.Devices[0].Uuid = "new" },
		"another pool":   func(h *agentv1.Hello) { h.ResourcePool = "other" },
	} {
		h := greeting("a", 2)
		change(h)
		p := c.dial()
		p.say(&agentv1.AgentMessage{Body: &agentv1.AgentMessage_Hello{Hello: h}})
		if got := p.refused(); !strings.Contains(got.GetReason(), "given up") || got.GetFinal() {
			t.Errorf("%s: got %v, want to wait until the containers are given up", name, got)
		}
	}
	a, _ = c.join("a", 2, has(s.GetContainerId(), "t.1"), func(h *agentv1.Hello) {
		h.Devices[0], h.Devices[1] = h.GetDevices()[1], h.GetDevices()[0]
	})
	a.reports(s, terminated, 0)
	c.leave(a)
	c.join("a", 5)
	if n := len(c.Agents()[0].GetSlots()); n != 5 {
		t.Errorf("got %d slots, want the 5 that the idle agent came back with", n)
	}
}

func TestStalledPeersAreDisconnected(t *testing.T) {
	t.Parallel()
	quick := link.DefaultLimits()
	quick.Hello, quick.Ping, quick.Write, quick.Message = 100*time.Millisecond, 100*time.Millisecond, time.Second, 1<<16
	t.Run("one that is silent", func(t *testing.T) {
		t.Parallel()
		c := newCluster(t, func(c *Config) { c.Limits = quick })
		p := c.dial()
		if _, err := p.read(t.Context()); err == nil || errors.Is(err, t.Context().Err()) {
			t.Errorf("got %v, want the link to be closed", err)
		}
	})
	t.Run("one that does not answer pings", func(t *testing.T) {
		t.Parallel()
		c := newCluster(t, func(c *Config) { c.Limits = quick })
		a, _ := c.join("a", 1) // which reads no more and never sees a ping
		c.until("the agent is missed", func() bool { return !c.Agents()[0].GetEnabled() })
		a.hangUp()
	})
	t.Run("one that sends too much at once", func(t *testing.T) {
		t.Parallel()
		c := newCluster(t, func(c *Config) { c.Limits = quick })
		a, _ := c.join("a", 1)
		big := &agentv1.Logs{ContainerId: "x", Lines: []*agentv1.Line{{Text: make([]byte, 1<<17)}}}
		b, err := proto.Marshal(&agentv1.AgentMessage{Body: &agentv1.AgentMessage_Logs{Logs: big}})
		if err != nil {
			t.Fatal(err)
		}
		// The master may close the connection before the write.
		if err := a.conn.Write(t.Context(), websocket.MessageBinary, b); err == nil {
			_, err = a.read(t.Context())
			if err == nil {
				t.Error("the link stays open")
			}
		}
	})
}

func TestStoppedMasterAcceptsNoAgents(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	r, err := New(c.config)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		w := &answer{header: http.Header{}}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/agents", nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.ServeHTTP(w, req); w.code != http.StatusServiceUnavailable {
			t.Errorf("got %d, want 503", w.code)
		}
	}
}

type answer struct {
	header http.Header
	code   int
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) Write(b []byte) (int, error) { return len(b), nil }
func (a *answer) WriteHeader(code int)        { a.code = code }

func TestCredentialsPrintRedacted(t *testing.T) {
	t.Parallel()
	p := JoinProof{Agent: "a", Credential: "hunter2", JoinToken: "hunter3"}
	if got := fmt.Sprintf("%v %+v %#v", p, p, p); strings.Contains(got, "hunter") {
		t.Errorf("got %s", got)
	}
}
