package agent

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func TestASickAgentIsListedWithItsReason(t *testing.T) {
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
	if err := o.PrintTable(agentTable(agents)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "sick (disk)") || strings.Count(out.String(), "sick") != 1 {
		t.Errorf("got\n%s", out.String())
	}
	o.explainSick(agents)
	if got := notes.String(); !strings.Contains(got, "Agent a has been unable") || !strings.Contains(got, "no space left on device") || strings.Contains(got, "Agent b") {
		t.Errorf("got %q", got)
	}
}
