package lifecycle

import (
	"slices"
	"testing"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

var all = []State{Assigned, Pulling, Starting, Running, Terminated}

func TestStatesOnlyGoForward(t *testing.T) {
	t.Parallel()
	for i, from := range all {
		for j, to := range all {
			got, err := from.To(to)
			if err == nil && j <= i {
				t.Errorf("%s goes back to %s", from, to)
			}
			if want := slices.Contains(nextStates(from), to); (err == nil) != want {
				t.Errorf("%s to %s: got %v, want allowed %v", from, to, err, want)
			}
			if err != nil && got != from {
				t.Errorf("%s to %s: a refused step leads to %s", from, to, got)
			}
		}
		if i < len(all)-1 {
			if _, err := from.To(Terminated); err != nil {
				t.Errorf("%s cannot end: %v", from, err)
			}
		}
	}
}

func TestEveryStateHasItsNumber(t *testing.T) {
	t.Parallel()
	for i, s := range all {
		if want := apiv1.Container_State(i + 1); s.Proto() != want {
			t.Errorf("%s: got %s", s, s.Proto())
		}
	}
	if !Pulling.Before(apiv1.Container_STATE_RUNNING) || Running.Before(apiv1.Container_STATE_RUNNING) {
		t.Error("the order on the wire is another")
	}
}

func TestExitOnTheWire(t *testing.T) {
	t.Parallel()
	for kind, want := range map[Kind]agentv1.Exit_Kind{
		Exited: agentv1.Exit_KIND_EXITED, NotStarted: agentv1.Exit_KIND_NOT_STARTED, Lost: agentv1.Exit_KIND_LOST,
	} {
		if got := (Exit{Kind: kind, Code: 3}).Proto(); got.GetKind() != want || got.GetCode() != 3 {
			t.Errorf("%s: got %v", kind, got)
		}
	}
}
