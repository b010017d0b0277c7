package task_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// robot is an agent at the other end of the link whose containers end as its start function returns.
type robot struct {
	id    string
	slots int32
	// start returns how a container ends, and the agent's health after that.
	start func(*agentv1.Start) (*agentv1.Exit, *agentv1.Health)

	mu   sync.Mutex // guards conn
	conn *websocket.Conn
}

// live connects and works until ctx is done.
func (b *robot) live(ctx context.Context, url string) {
	for ctx.Err() == nil {
		b.work(ctx, url)
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (b *robot) say(ctx context.Context, m *agentv1.AgentMessage) {
	data, err := proto.Marshal(m)
	if err != nil {
		panic(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	_ = b.conn.Write(ctx, websocket.MessageBinary, data) // the reader detects a broken link
}

func (b *robot) feel(ctx context.Context, h *agentv1.Health) {
	b.say(ctx, &agentv1.AgentMessage{Body: &agentv1.AgentMessage_Health{Health: h}})
}

func (b *robot) work(ctx context.Context, url string) {
	conn, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(url, "http"), nil)
	if err != nil {
		return
	}
	defer func() { _ = conn.CloseNow() }()
	b.mu.Lock()
	b.conn = conn
	b.mu.Unlock()
	hello := &agentv1.Hello{Protocol: agentv1.Protocol, AgentId: b.id, Version: "1", Hostname: b.id}
	for i := range b.slots {
		hello.Devices = append(hello.Devices, &apiv1.Device{Id: i, Type: apiv1.Device_TYPE_CPU})
	}
	b.say(ctx, &agentv1.AgentMessage{Body: &agentv1.AgentMessage_Hello{Hello: hello}})
	for {
		_, data, err := conn.Read(ctx)
		m := &agentv1.MasterMessage{}
		if err != nil || proto.Unmarshal(data, m) != nil {
			return
		}
		if s := m.GetStart(); s != nil {
			b.take(ctx, s)
		}
	}
}

func (b *robot) take(ctx context.Context, s *agentv1.Start) {
	exit, health := b.start(s)
	if health != nil {
		b.feel(ctx, health)
	}
	if exit.GetKind() != agentv1.Exit_KIND_NOT_STARTED {
		b.say(ctx, &agentv1.AgentMessage{Body: &agentv1.AgentMessage_Received{Received: &agentv1.Received{ContainerId: s.GetContainerId()}}})
		b.change(ctx, s.GetContainerId(), running, nil)
	}
	b.change(ctx, s.GetContainerId(), terminated, exit)
}

func (b *robot) change(ctx context.Context, id string, state apiv1.Container_State, x *agentv1.Exit) {
	b.say(ctx, &agentv1.AgentMessage{Body: &agentv1.AgentMessage_Change{Change: &agentv1.Change{
		ContainerId: id, State: state, AtUs: time.Now().UnixMicro(), Exit: x,
	}}})
}

// ran counts the runs of each task's programs.
type ran struct {
	mu    sync.Mutex // guards times
	times map[string]int
}

func (r *ran) start(s *agentv1.Start) (*agentv1.Exit, *agentv1.Health) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.times[s.GetTaskId()]++
	return exit(0), nil
}

// withRobots runs a master with the given agents.
func withRobots(t *testing.T, robots ...*robot) *master {
	t.Helper()
	m := newMaster(t)
	m.stop()
	m.open()
	url, stop := withAgents(t, m)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for _, b := range robots {
		all.Go(func() { b.live(ctx, url) })
	}
	t.Cleanup(func() {
		cancel()
		all.Wait()
		stop()
	})
	return m
}

// launchWhenThere retries until the required agents have joined.
func (m *master) launchWhenThere(config string) string {
	m.t.Helper()
	for end := time.Now().Add(30 * time.Second); ; {
		r, err := m.tasks.Launch(m.t.Context(), ann(), command(m.t, config), nil)
		if err == nil {
			return r.GetCommand().GetId()
		}
		if time.Now().After(end) {
			m.t.Fatal(err)
		}
		<-time.After(10 * time.Millisecond)
	}
}

func (m *master) awaitAll(ids []string) {
	m.t.Helper()
	deadline := time.After(2 * time.Minute)
	for _, id := range ids {
		done, err := m.tasks.Done(m.t.Context(), id)
		if err != nil {
			m.t.Fatal(err)
		}
		select {
		case <-done:
		case <-deadline:
			m.t.Fatalf("task %s does not end; its log:\n%s", id, strings.Join(m.lines(id), "\n"))
		}
	}
}

// One of two agents has a full disk, recovers again and again, and is tried first. No task fails, and no
// program runs twice.
func TestASickAgentFailsNoTask(t *testing.T) {
	t.Parallel()
	runs := &ran{times: map[string]int{}}
	sick := &robot{id: "a-sick", slots: 4}
	refused := 0 // used only by the goroutine of the robot
	sick.start = func(*agentv1.Start) (*agentv1.Exit, *agentv1.Health) {
		refused++
		time.AfterFunc(50*time.Millisecond, func() { sick.feel(t.Context(), &agentv1.Health{}) })
		return &agentv1.Exit{Kind: agentv1.Exit_KIND_NOT_STARTED, NotHere: true, Message: "no space left on device"},
			&agentv1.Health{Lack: agentv1.Health_LACK_DISK, Reason: "no space left on device", SinceUs: 1}
	}
	m := withRobots(t, sick, &robot{id: "b-well", slots: 4, start: runs.start})
	const tasks = 150
	var ids []string
	for range tasks {
		ids = append(ids, m.launchWhenThere(`{"entrypoint":["true"],"description":"x"}`))
	}
	m.awaitAll(ids)
	failed := 0
	for _, id := range ids {
		if c := m.command(id); c.GetExitStatus() != "allocation exited successfully" {
			failed++
			t.Logf("%s: %s", id, c.GetExitStatus())
		}
	}
	runs.mu.Lock()
	defer runs.mu.Unlock()
	for id, n := range runs.times {
		if n != 1 {
			t.Errorf("task %s ran %d times", id, n)
		}
	}
	if failed > 0 || len(runs.times) != tasks || refused == 0 {
		t.Errorf("%d of %d tasks failed, %d ran; the sick agent refused %d", failed, tasks, len(runs.times), refused)
	}
	t.Logf("the sick agent refused %d starts", refused)
}

// A task that no machine can start for days keeps a record of its last failures only; its log has every
// line once, and the stored state equals that in memory.
func TestManyFailedStartsKeepTheRecordSmall(t *testing.T) {
	t.Parallel()
	const refusals = 100
	m := newMaster(t)
	id := m.launch(`{"entrypoint":["true"],"description":"x"}`).GetCommand().GetId()
	number := func(n int) rm.AllocationID { return rm.AllocationID(fmt.Sprintf("%s.%d", id, n)) }
	for n := 1; n <= refusals; n++ {
		m.ended(number(n), rm.CauseNotHere, fmt.Sprintf("disk %d is full", n))
		if n == refusals/2 {
			m.restart()
		}
	}
	check := func(when string) {
		t.Helper()
		shown, err := m.tasks.Task(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		all := shown.GetTask().GetAllocations()
		if len(all) > 22 || len(all) < 21 {
			t.Errorf("%s: got %d allocations, want the last 20 refusals and the one that waits", when, len(all))
		}
		if newest := all[0].GetAllocationId(); newest != string(number(refusals+1)) {
			t.Errorf("%s: got %s as the newest, want %s", when, newest, number(refusals+1))
		}
	}
	check("after the last refusal")
	m.restart()
	check("after a restart")
	text := strings.Join(m.lines(id), "\n")
	for n := 1; n <= refusals; n++ {
		if got := strings.Count(text, fmt.Sprintf("not started: disk %d is full\n", n)); got != 1 {
			t.Errorf("refusal %d is %d times in the log, want once", n, got)
		}
	}
}
