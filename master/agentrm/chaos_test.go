package agentrm

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// honest is an agent that follows the protocol and never loses its stored state; its link breaks all the
// time.
type honest struct {
	id     string
	random *rand.Rand
	url    func() string
	disk   map[string]*program
	// runs counts how often each container was started.
	runs map[string]int
}

// program has passed states[:done]; the master has stored those up to acked.
type program struct {
	allocation string
	state      apiv1.Container_State
	acked      apiv1.Container_State
}

// live connects again and again until ctx is done.
func (h *honest) live(ctx context.Context) {
	for ctx.Err() == nil {
		h.connect(ctx)
		pause := time.NewTimer(5 * time.Millisecond)
		select {
		case <-ctx.Done():
		case <-pause.C:
		}
	}
}

// connect runs one link, which breaks after some messages in either direction.
func (h *honest) connect(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, h.url(), nil)
	if err != nil {
		return
	}
	defer func() { _ = conn.CloseNow() }() // the break is intended
	left := 3 + h.random.IntN(20)
	say := func(m *agentv1.AgentMessage) bool {
		left--
		b, err := proto.Marshal(m)
		return err == nil && left > 0 && conn.Write(ctx, websocket.MessageBinary, b) == nil
	}
	hello := greeting(h.id, 4)
	for id, p := range h.disk {
		hello.Containers = append(hello.Containers, &agentv1.Report{ContainerId: id, AllocationId: p.allocation, State: p.state})
	}
	for ok := say(&agentv1.AgentMessage{Body: &agentv1.AgentMessage_Hello{Hello: hello}}); ok && left > 0; left-- {
		_, b, err := conn.Read(ctx)
		m := &agentv1.MasterMessage{}
		if err != nil || proto.Unmarshal(b, m) != nil {
			return
		}
		ok = h.hear(m, say)
	}
}

func (h *honest) hear(m *agentv1.MasterMessage, say func(*agentv1.AgentMessage) bool) bool {
	switch body := m.GetBody().(type) {
	case *agentv1.MasterMessage_Refusal:
		return false
	case *agentv1.MasterMessage_Welcome:
		known := make(map[string]bool)
		for _, k := range body.Welcome.GetContainers() {
			known[k.GetContainerId()] = true
			if p := h.disk[k.GetContainerId()]; p != nil {
				p.acked = k.GetAcked()
			}
		}
		for id := range h.disk {
			if !known[id] || h.disk[id].acked == terminated {
				delete(h.disk, id)
			} else if !h.tell(id, say) {
				return false
			}
		}
	case *agentv1.MasterMessage_Start:
		id := body.Start.GetContainerId()
		if h.disk[id] == nil {
			h.runs[id]++
			h.disk[id] = &program{allocation: body.Start.GetAllocationId(), state: terminated}
		}
		if h.random.IntN(2) == 0 { // a state implies it as well
			return h.tell(id, say)
		}
		return say(&agentv1.AgentMessage{Body: &agentv1.AgentMessage_Received{Received: &agentv1.Received{ContainerId: id}}}) && h.tell(id, say)
	case *agentv1.MasterMessage_Ack:
		if p := h.disk[body.Ack.GetContainerId()]; p != nil && body.Ack.GetState() == terminated {
			delete(h.disk, body.Ack.GetContainerId())
		}
	}
	return true
}

// tell reports every state that is not known to be stored.
func (h *honest) tell(id string, say func(*agentv1.AgentMessage) bool) bool {
	p := h.disk[id]
	for _, state := range []apiv1.Container_State{running, terminated} {
		if state <= p.acked || state > p.state {
			continue
		}
		c := &agentv1.Change{ContainerId: id, AllocationId: p.allocation, State: state}
		if state == terminated {
			c.Exit = &agentv1.Exit{Kind: agentv1.Exit_KIND_EXITED}
		}
		if !say(&agentv1.AgentMessage{Body: &agentv1.AgentMessage_Change{Change: c}}) {
			return false
		}
	}
	return true
}

// Links that break after a few messages, and a master that restarts in between, must not lose a task,
// run one twice, or fail one.
func TestNothingIsLostOrRunTwiceDespiteFailures(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			chaos(t, seed)
		})
	}
}

func chaos(t *testing.T, seed uint64) {
	c := newCluster(t)
	var mu sync.Mutex // guards c.server while the master restarts
	url := func() string {
		mu.Lock()
		defer mu.Unlock()
		return "ws" + strings.TrimPrefix(c.server.URL, "http")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	var agents []*honest
	for i := range 3 {
		h := &honest{
			id: fmt.Sprint("agent-", i), url: url, disk: make(map[string]*program), runs: make(map[string]int),
			random: rand.New(rand.NewPCG(seed, uint64(i))), //nolint:gosec // a test needs no secrecy
		}
		agents = append(agents, h)
		wg.Go(func() { h.live(ctx) })
	}
	const tasks = 60
	submit := func() {
		for n := range tasks {
			if id := fmt.Sprint("t", n); c.count(id+".1 ended") == 0 {
				c.submit(id, []int{0, 1, 1, 8}[n%4]) // eight slots only fit as four and four
			}
		}
	}
	submit()
	for restart := range 4 {
		c.until("some have ended", func() bool { return c.count("ended") > restart*8 })
		mu.Lock()
		c.restart()
		mu.Unlock()
		submit()
	}
	for n := range tasks {
		c.await(t, fmt.Sprintf("t%d.1 ended: exited", n))
	}
	cancel()
	wg.Wait()
	for _, h := range agents {
		for id, n := range h.runs {
			if n != 1 {
				t.Errorf("container %s ran %d times on %s", id, n, h.id)
			}
		}
	}
	ran := len(agents[0].runs) + len(agents[1].runs) + len(agents[2].runs)
	if want := tasks/4*3 + tasks/4*2; ran != want {
		t.Errorf("got %d containers run, want %d", ran, want)
	}
	if n := c.count("ended") - c.count("ended: exited"); n != 0 {
		t.Errorf("%d tasks were blamed for broken links: %q", n, c.blamed())
	}
}

// blamed returns the ends that the tasks did not cause themselves.
func (o *owner) blamed() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var out []string
	for _, e := range o.events {
		if strings.Contains(e, "ended") && !strings.Contains(e, "ended: exited") {
			out = append(out, e)
		}
	}
	return out
}
