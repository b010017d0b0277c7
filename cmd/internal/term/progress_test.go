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
	tests := []struct {
		name     string
		terminal bool
		want     string
	}{
		{"lines only, where nobody watches", false, "  x/a: waits for b\n  1/2 done   create x/a (1.5s)\n  2/2 failed create x/b (3ms)\n"},
		{
			"on a terminal also what is being done", true,
			"\r\x1b[K  … apply the plan\r\x1b[K  … create x/a\r\x1b[K  x/a: waits for b\n\r\x1b[K  … create x/a" +
				"\r\x1b[K  1/2 done   create x/a (1.5s)\n\r\x1b[K  … apply the plan\r\x1b[K  2/2 failed create x/b (3ms)\n\r\x1b[K  … apply the plan\r\x1b[K",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, out, errs := term.Test("", tt.terminal)
			sink := s.Progress()
			for _, e := range events {
				sink.Emit(e)
			}
			if d := cmp.Diff(errs.String(), tt.want); d != "" || out.Len() != 0 {
				t.Errorf("stdout %q; stderr: got -, want +:\n%s", out, d)
			}
		})
	}
}
