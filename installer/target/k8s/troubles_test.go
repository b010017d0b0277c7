package k8s

import (
	"testing"

	"github.com/det-deploy/det-deploy/k8s/explain"
)

func TestATroubleInALine(t *testing.T) {
	t.Parallel()
	trouble := explain.Trouble{
		Object: "pod a", What: "container b runs and does not answer its probe", Event: "Unhealthy: no\nanswer",
		LogTail: []string{"first", "the database does not answer"},
	}
	const want = "pod a: container b runs and does not answer its probe (Unhealthy: no answer)"
	if got := short(trouble); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := withLastWord(trouble), want+"; it said last: the database does not answer"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := withLastWord(explain.Trouble{Object: "pod a", What: "waits"}), "pod a: waits"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
