package tasks

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/test/bench/master"
)

// fleet is a set of agents that consist of a connection only.
type fleet struct {
	agents []*agent
	wg     sync.WaitGroup
	// count is the number of ended tasks.
	count atomic.Int64

	mu sync.Mutex
	// ended has a channel for each task, which is closed when the master acknowledges the task's
	// end.
	ended map[string]chan struct{}
}

// slotsEach is the number of devices of an agent.
const slotsEach = 8

// connectFleet joins n agents with a join token of the master.
func connectFleet(ctx context.Context, m *master.Master, bin string, n int) (*fleet, error) {
	text, err := exec.CommandContext(ctx, bin, "master", "join-token", "--config-file", filepath.Join(m.Dir, "master.yaml")).Output()
	if err != nil {
		return nil, fmt.Errorf("ask for a join token: %w", err)
	}
	f := &fleet{agents: make([]*agent, n), ended: map[string]chan struct{}{}}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(32)
	for i := range n {
		g.Go(func() error {
			a, err := join(gctx, m.Addr, fmt.Sprintf("agent-%04d", i), string(bytes.TrimSpace(text)))
			f.agents[i] = a
			return err
		})
	}
	if err := g.Wait(); err != nil {
		f.hangUp()
		return nil, err
	}
	for _, a := range f.agents {
		f.wg.Go(func() { a.serve(context.WithoutCancel(ctx), f) })
	}
	return f, nil
}

// hangUp closes all connections.
func (f *fleet) hangUp() {
	for _, a := range f.agents {
		if a != nil {
			_ = a.conn.CloseNow() // the master may have closed it first
		}
	}
	f.wg.Wait()
}

func (f *fleet) endOf(task string) chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended[task] == nil {
		f.ended[task] = make(chan struct{})
	}
	return f.ended[task]
}

// awaitEnd waits until the master has acknowledged the end of a task's container, which it does
// when the task has ended. It returns an error after a minute.
func (f *fleet) awaitEnd(ctx context.Context, task string) error {
	late := time.NewTimer(time.Minute)
	defer late.Stop()
	select {
	case <-f.endOf(task):
	case <-ctx.Done():
		return ctx.Err()
	case <-late.C:
		return fmt.Errorf("task %s has not ended after a minute", task)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.ended, task)
	return nil
}

// agent is one agent of a fleet.
type agent struct {
	conn *websocket.Conn
	// runs maps containers to their tasks.
	runs map[string]string
}

func join(ctx context.Context, addr, id, token string) (*agent, error) {
	conn, resp, err := websocket.Dial(ctx, "ws://"+addr+"/agents", nil)
	if err != nil {
		return nil, fmt.Errorf("connect agent %s: %w", id, err)
	}
	if resp.Body != nil {
		_ = resp.Body.Close() // it has no body
	}
	conn.SetReadLimit(1 << 20)
	a := &agent{conn: conn, runs: map[string]string{}}
	h := &agentv1.Hello{Protocol: agentv1.Protocol, AgentId: id, Version: "v0.0.0", Hostname: id, JoinToken: token}
	for i := range int32(slotsEach) {
		h.Devices = append(h.Devices, &apiv1.Device{Id: i, Uuid: fmt.Sprintf("%s-%d", id, i), Brand: "fake", Type: apiv1.Device_TYPE_CUDA})
	}
	if err := a.send(ctx, &agentv1.AgentMessage{Body: &agentv1.AgentMessage_Hello{Hello: h}}); err != nil {
		return nil, err
	}
	m, err := a.receive(ctx)
	if err != nil {
		return nil, err
	}
	if m.GetWelcome() == nil {
		return nil, fmt.Errorf("agent %s: the master answers %s", id, strings.TrimSpace(m.String()))
	}
	return a, nil
}

func (a *agent) send(ctx context.Context, m *agentv1.AgentMessage) error {
	data, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	return a.conn.Write(ctx, websocket.MessageBinary, data)
}

func (a *agent) receive(ctx context.Context) (*agentv1.MasterMessage, error) {
	_, data, err := a.conn.Read(ctx)
	if err != nil {
		return nil, err
	}
	m := &agentv1.MasterMessage{}
	return m, proto.Unmarshal(data, m)
}

// serve runs each requested container in no time, until the connection ends.
func (a *agent) serve(ctx context.Context, f *fleet) {
	for {
		m, err := a.receive(ctx)
		if err != nil {
			return
		}
		if s := m.GetStart(); s != nil {
			a.runs[s.GetContainerId()] = s.GetTaskId()
			err = a.run(ctx, s)
		}
		if ack := m.GetLogAck(); ack != nil {
			err = a.end(ctx, ack.GetContainerId())
		}
		if ack := m.GetAck(); ack.GetState() == apiv1.Container_STATE_TERMINATED {
			f.count.Add(1)
			close(f.endOf(a.runs[ack.GetContainerId()]))
			delete(a.runs, ack.GetContainerId())
		}
		if err != nil {
			return
		}
	}
}

// run reports the states of a short program that prints one line. It reports the end of the program
// when its lines are acknowledged.
func (a *agent) run(ctx context.Context, s *agentv1.Start) error {
	id := s.GetContainerId()
	for _, m := range []*agentv1.AgentMessage{
		{Body: &agentv1.AgentMessage_Received{Received: &agentv1.Received{ContainerId: id}}},
		changeOf(id, apiv1.Container_STATE_STARTING, nil),
		changeOf(id, apiv1.Container_STATE_RUNNING, nil),
		{Body: &agentv1.AgentMessage_Logs{Logs: &agentv1.Logs{
			ContainerId: id, Lines: []*agentv1.Line{{AtUs: time.Now().UnixMicro(), Stdtype: "stdout", Text: []byte("hello")}},
		}}},
	} {
		if err := a.send(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

func (a *agent) end(ctx context.Context, id string) error {
	return a.send(ctx, changeOf(id, apiv1.Container_STATE_TERMINATED, &agentv1.Exit{Kind: agentv1.Exit_KIND_EXITED}))
}

func changeOf(id string, state apiv1.Container_State, exit *agentv1.Exit) *agentv1.AgentMessage {
	return &agentv1.AgentMessage{Body: &agentv1.AgentMessage_Change{Change: &agentv1.Change{
		ContainerId: id, State: state, AtUs: time.Now().UnixMicro(), Exit: exit,
	}}}
}
