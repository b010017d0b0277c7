package agentrm

import (
	"testing"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

// An agent that reconnects before it is given up, and has ended a container because the master was out
// of reach, has lost the container: the task has not failed.
func TestContainerEndedDuringSilenceIsLost(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, _ := c.join("a", 1)
	c.submit("t", 1, yielding)
	s := a.started()
	if !s.GetRerun() {
		t.Error("a preemptible task: got it not marked as run again elsewhere")
	}
	a.reports(s, running)
	a.say(&agentv1.AgentMessage{Body: &agentv1.AgentMessage_Change{Change: &agentv1.Change{
		ContainerId: s.GetContainerId(), AllocationId: s.GetAllocationId(), State: terminated, AtUs: 1,
		Exit: &agentv1.Exit{Kind: agentv1.Exit_KIND_LOST, Silent: true, Message: "no answer"},
	}}})
	c.await(t, "t.1 ended: agent_lost: agent a: no answer")
	b := c.submit("u", 1)
	if s := a.next(); s.GetSignal() == nil && s.GetStart().GetRerun() {
		t.Errorf("%s: got it marked as run again elsewhere", b)
	}
}
