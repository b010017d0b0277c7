package agent

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func TestListShowsReasonOfSickAgent(t *testing.T) {
	t.Parallel()
	agents := []*apiv1.Agent{
		{Id: "a", Draining: true, Sick: &apiv1.AgentSickness{
			Lack: "disk", Reason: "no space left on device", Since: timestamppb.New(time.Unix(0, 0)),
		}},
		{Id: "b", Enabled: true},
	}
	var out, notes bytes.Buffer
	o := &listOptions{}
	o.Streams = &term.Streams{Out: &out, Err: &notes}
	if err := o.PrintTable(command.Tabulate(agentList().Columns, agents)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "sick (disk)") || strings.Count(out.String(), "sick") != 1 {
		t.Errorf("got\n%s", out.String())
	}
	explain(o, agents)
	if got := notes.String(); !strings.Contains(got, "Agent a has been unable") || !strings.Contains(got, "no space left on device") || strings.Contains(got, "Agent b") {
		t.Errorf("got %q", got)
	}
}

func TestListShowsRestrictionsOfAgents(t *testing.T) {
	t.Parallel()
	const noRunc = "runc is not installed on this machine; install runc, for example with `apt-get install runc`, and restart the agent"
	agents := []*apiv1.Agent{
		{Id: "a", Enabled: true, NotIsolated: noRunc, NoFixedPaths: noRunc},
		{Id: "b", Enabled: true, NotIsolated: noRunc, TrustsUsers: true},
		{Id: "c", Enabled: true},
	}
	var out, notes bytes.Buffer
	o := &listOptions{}
	o.Streams = &term.Streams{Out: &out, Err: &notes}
	if err := o.PrintTable(command.Tabulate(agentList().Columns, agents)); err != nil {
		t.Fatal(err)
	}
	if strings.Count(out.String(), "administrators only") != 1 || strings.Count(out.String(), "enabled") != 2 {
		t.Errorf("got\n%s", out.String())
	}
	explain(o, agents)
	for _, want := range []string{"Agent a: only administrators' tasks run there", "Agent a: no trials", "Agent b: tasks of all users run without isolation", "apt-get install runc"} {
		if !strings.Contains(notes.String(), want) {
			t.Errorf("got %q, want %q", notes.String(), want)
		}
	}
	if strings.Contains(notes.String(), "Agent c") {
		t.Errorf("got %q, want nothing of c", notes.String())
	}
}

func TestWatchedSlotsOfOneAgentDiffer(t *testing.T) {
	t.Parallel()
	l, a := slotList(), &apiv1.Agent{Id: "a"}
	first, second := slot{a, &apiv1.Slot{Id: "0"}}, slot{a, &apiv1.Slot{Id: "1"}}
	if l.Name(first) == l.Name(second) {
		t.Errorf("both slots have the name %s", l.Name(first))
	}
	object, err := l.Object(second)
	if m, _ := object.(map[string]any); err != nil || m["agentId"] != "a" || m["id"] != "1" {
		t.Errorf("got %v, %v, want the slot with its agent", object, err)
	}
}
