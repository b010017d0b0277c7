package task_test

import (
	"context"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/master/agentrm"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pool"
)

// openGate admits every agent.
type openGate struct{}

func (openGate) Admit(_ context.Context, p agentrm.JoinProof) (agentrm.Identity, error) {
	return agentrm.Identity{Agent: p.Agent}, nil
}

// withAgents runs a master whose tasks run on connected agents, and returns the URL for agents.
func withAgents(t *testing.T, m *master) (url string, stop func()) {
	t.Helper()
	fitting := pool.Scheduler{Fitting: pool.Best, DefaultPriority: pool.DefaultPriority}
	r, err := agentrm.New(agentrm.Config{
		Store: m.store, Gate: openGate{}, Tasks: m.tasks, Logs: m.tasks, ClusterID: "c", Version: "1",
		Pools: []agentrm.Pool{{Name: "default", MaxAux: agentrm.DefaultMaxAux, ReconnectWait: agentrm.DefaultReconnectWait, Scheduler: fitting}}, DefaultAux: "default", DefaultCompute: "default",
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	if err := r.Restore(ctx); err != nil {
		t.Fatal(err)
	}
	if err := m.tasks.Attach(ctx, r); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	server := httptest.NewServer(r)
	return server.URL, func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		server.Close()
	}
}

// agent is the other end of the link, implemented directly on link.proto.
type agent struct {
	t    *testing.T
	conn *websocket.Conn
}

// join connects an agent with one slot. It retries, because a master that is still starting may refuse
// it.
func join(t *testing.T, url string, had ...*agentv1.Report) *agent {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		conn, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(url, "http"), nil)
		if err == nil {
			a := &agent{t: t, conn: conn}
			a.say(&agentv1.AgentMessage{Body: &agentv1.AgentMessage_Hello{Hello: &agentv1.Hello{
				Protocol: agentv1.Protocol, AgentId: "a1", Version: "1", Hostname: "a1", Containers: had,
				Devices: []*apiv1.Device{{Id: 0, Uuid: "u", Type: apiv1.Device_TYPE_CPU}},
			}}})
			if m, err := a.hear(); err == nil && m.GetWelcome() != nil {
				t.Cleanup(func() { _ = conn.CloseNow() }) // the test may have closed it
				return a
			}
			_ = conn.CloseNow() // the master refused it
		}
		select {
		case <-deadline:
			t.Fatalf("the agent could not join: %v", err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (a *agent) say(m *agentv1.AgentMessage) {
	a.t.Helper()
	data, err := proto.Marshal(m)
	if err != nil {
		a.t.Fatal(err)
	}
	if err := a.conn.Write(a.t.Context(), websocket.MessageBinary, data); err != nil {
		a.t.Fatal(err)
	}
}

func (a *agent) hear() (*agentv1.MasterMessage, error) {
	_, data, err := a.conn.Read(a.t.Context())
	if err != nil {
		return nil, err
	}
	m := &agentv1.MasterMessage{}
	return m, proto.Unmarshal(data, m)
}

// await reads messages until one is wanted.
func (a *agent) await(wanted func(*agentv1.MasterMessage) bool) *agentv1.MasterMessage {
	a.t.Helper()
	for {
		m, err := a.hear()
		if err != nil {
			a.t.Fatal(err)
		}
		if wanted(m) {
			return m
		}
	}
}

func (a *agent) change(s *agentv1.Start, state apiv1.Container_State, exit *agentv1.Exit) {
	a.t.Helper()
	a.say(&agentv1.AgentMessage{Body: &agentv1.AgentMessage_Change{Change: &agentv1.Change{
		ContainerId: s.GetContainerId(), AllocationId: s.GetAllocationId(), State: state, AtUs: time.Now().UnixMicro(), Exit: exit,
	}}})
}

// awaitState waits until a command is in a state.
func awaitState(m *master, id string, want apiv1.Task_State) {
	m.t.Helper()
	deadline, tick := time.After(20*time.Second), time.NewTicker(2*time.Millisecond)
	defer tick.Stop()
	for m.command(id).GetState() != want {
		select {
		case <-tick.C:
		case <-deadline:
			m.t.Fatalf("task %s is %s, want %s", id, m.command(id).GetState(), want)
		}
	}
}

func TestACommandRunsOnAnAgentThroughARestartOfTheMaster(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	m.stop()
	m.open()
	url, stop := withAgents(t, m)
	a := join(t, url)
	id := m.launch(`{"entrypoint":["echo","hi"],"description":"x"}`).GetCommand().GetId()
	start := a.await(func(m *agentv1.MasterMessage) bool { return m.GetStart() != nil }).GetStart()
	if got := start.GetSpec().GetEntrypoint(); !slices.Equal(got, []string{"echo", "hi"}) {
		t.Errorf("got entrypoint %q", got)
	}
	a.say(&agentv1.AgentMessage{Body: &agentv1.AgentMessage_Received{Received: &agentv1.Received{ContainerId: start.GetContainerId()}}})
	a.change(start, running, nil)
	awaitState(m, id, apiv1.Task_STATE_RUNNING)
	_ = a.conn.CloseNow() // the master goes away
	stop()
	m.stop()
	m.open()
	url, stop = withAgents(t, m)
	a = join(t, url, &agentv1.Report{ContainerId: start.GetContainerId(), AllocationId: start.GetAllocationId(), State: running})
	a.say(&agentv1.AgentMessage{Body: &agentv1.AgentMessage_Logs{Logs: &agentv1.Logs{
		ContainerId: start.GetContainerId(), AllocationId: start.GetAllocationId(), Lines: []*agentv1.Line{{Text: []byte("hi"), Stdtype: "stdout"}},
	}}})
	a.await(func(m *agentv1.MasterMessage) bool { return m.GetLogAck().GetNextSeq() == 1 })
	a.change(start, terminated, exit(0))
	a.await(func(m *agentv1.MasterMessage) bool { return m.GetAck().GetState() == terminated })
	done, err := m.tasks.Done(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	<-done
	want := []string{
		"INFO Scheduling x (id: " + id + ".1)", "INFO x was assigned to an agent", "INFO Resources for x have started",
		" hi", "INFO resources exited successfully with a zero exit code",
	}
	if d := cmp.Diff(m.lines(id), want); d != "" {
		t.Errorf("-got +want:\n%s", d)
	}
	if c := m.command(id); c.GetExitStatus() != "allocation exited successfully" {
		t.Errorf("got %v, want success", c)
	}
	if n := len(m.commands()); n != 1 {
		t.Errorf("got %d commands, want 1", n)
	}
	_ = a.conn.CloseNow() // before the master, which would wait for the close handshake
	stop()
}
