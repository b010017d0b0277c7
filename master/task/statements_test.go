package task_test

import (
	"testing"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// Database operations are the larger half of the master's cost for a short task. These are the limits on
// the writes and statements of a task that prints a line, from its submission until its end is
// acknowledged, without its tokens: the submission; the placement; the running state, in one or two; the
// line; the end.
const (
	mostWrites     = 6
	mostStatements = 24
)

func TestShortTaskNeedsFewWrites(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	m.stop()
	m.open()
	url, stop := withAgents(t, m)
	a := join(t, url)
	m.runShort(a) // the first task creates shared records
	const tasks = 4
	before := m.store.Counts()

	for range tasks {
		m.runShort(a)
	}
	after := m.store.Counts()
	if writes := after.Writes - before.Writes; writes > tasks*mostWrites {
		t.Errorf("%d short tasks are %d writes, want at most %d each", tasks, writes, mostWrites)
	}
	if n := after.Statements - before.Statements; n > tasks*mostStatements || n < tasks*mostStatements/2 {
		t.Errorf("%d short tasks are %d statements, want at most %d each", tasks, n, mostStatements)
	}
	_ = a.conn.CloseNow() // before the master, which would wait for the close handshake
	stop()
}

// runShort runs a command that prints a line, and waits until its end is acknowledged.
func (m *master) runShort(a *agent) {
	m.t.Helper()
	m.launch(`{"entrypoint":["echo","hi"],"description":"x"}`)
	start := a.await(func(m *agentv1.MasterMessage) bool { return m.GetStart() != nil }).GetStart()
	a.say(&agentv1.AgentMessage{Body: &agentv1.AgentMessage_Received{Received: &agentv1.Received{ContainerId: start.GetContainerId()}}})
	a.change(start, apiv1.Container_STATE_STARTING, nil)
	a.change(start, running, nil)
	a.say(&agentv1.AgentMessage{Body: &agentv1.AgentMessage_Logs{Logs: &agentv1.Logs{
		ContainerId: start.GetContainerId(), AllocationId: start.GetAllocationId(), Lines: []*agentv1.Line{{Text: []byte("hi"), Stdtype: "stdout"}},
	}}})
	a.await(func(m *agentv1.MasterMessage) bool { return m.GetLogAck().GetNextSeq() == 1 })
	a.change(start, terminated, exit(0))
	a.await(func(m *agentv1.MasterMessage) bool { return m.GetAck().GetState() == terminated })
}
