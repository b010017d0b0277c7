package k8s

import (
	"testing"

	selecting "k8s.io/apimachinery/pkg/labels"

	"github.com/det-deploy/det-deploy/k8s/explain"
)

func TestTroubleAsLine(t *testing.T) {
	t.Parallel()
	trouble := explain.Trouble{
		Object: "pod a", What: "container b is running but fails its probe", Event: "Unhealthy: no\nanswer",
		LogTail: []string{"first", "the database does not answer"},
	}
	const want = "pod a: container b is running but fails its probe (Unhealthy: no answer)"
	if got := troubleLine(trouble); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := withLastLogLine(trouble), want+"; last log line: the database does not answer"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := withLastLogLine(explain.Trouble{Object: "pod a", What: "waits"}), "pod a: waits"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A failed errand Job is kept for a day. It must not make a cluster look unhealthy, or end the wait
// for its master.
func TestFailedJobDoesNotAffectHealth(t *testing.T) {
	t.Parallel()
	standing, err := selecting.Parse(place{Cluster: "lab"}.standingSelector())
	if err != nil {
		t.Fatal(err)
	}
	for part, want := range map[string]bool{"master": true, "database": true, "coscheduler": true, componentUpgrade: false, componentCheck: false} {
		if got := standing.Matches(selecting.Set{clusterLabel: "lab", component: part}); got != want {
			t.Errorf("%s: got %t, want %t", part, got, want)
		}
	}
}
