package term_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/installer/event"
)

func TestProgress(t *testing.T) {
	t.Parallel()
	events := []event.Event{
		{Type: event.Started, Scope: event.Phase, Subject: "apply the plan"},
		{Type: event.Started, Scope: event.Step, Verb: "create", Subject: "x/a", Total: 2},
		{Type: event.Progress, Scope: event.Step, Subject: "x/a", Message: "waits for b"},
		{Type: event.Done, Scope: event.Step, Verb: "create", Subject: "x/a", Took: 1500, Ended: 1, Total: 2},
		{Type: event.Failed, Scope: event.Step, Verb: "create", Subject: "x/b", Took: 3, Ended: 2, Total: 2},
		{Type: event.Failed, Scope: event.Phase, Subject: "apply the plan"},
	}
	const want = "  x/a: waits for b\n  1/2 done   create x/a (1.5s)\n  2/2 failed create x/b (3ms)\n"
	for _, terminal := range []bool{false, true} { // without colors, so nothing is drawn
		s, out, errs := term.Test("", terminal)
		p := s.NewProgress()
		p.Expect([]term.Step{{ID: "create x/a"}, {ID: "create x/b"}})
		for _, e := range events {
			p.Show(e)
		}
		if d := cmp.Diff(errs.String(), want); d != "" || out.Len() != 0 {
			t.Errorf("terminal %t: stdout %q; stderr: got -, want +:\n%s", terminal, out, d)
		}
	}
}
