package term

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/installer/event"
)

// begun returns the steps of a phase and a plan: two are running and one has ended.
func begun() []liveStep {
	at := time.Date(2026, 1, 2, 15, 4, 5, 0, time.Local)
	steps := []liveStep{
		{Step: Step{ID: "create x/net"}},
		{Step: Step{ID: "create x/disk"}},
		{Step: Step{ID: "create x/role"}},
		{Step: Step{ID: "delete x/vm"}},
		{Step: Step{ID: "create x/vm", Needs: []string{"create x/net", "create x/disk", "create x/role", "delete x/vm"}}},
		{Step: Step{ID: "create x/address", Needs: []string{"create x/vm"}}},
	}
	for _, e := range []event.Event{
		{Scope: event.Phase, Subject: "apply the plan", Time: at},
		{Scope: event.Step, Subject: "create x/net", Time: at.Add(time.Second)},
		{Scope: event.Step, Subject: "create x/role", Time: at.Add(time.Second)},
		{Scope: event.Step, Subject: "create x/disk", Time: at.Add(time.Minute)},
	} {
		steps = startStep(steps, e.Subject, e)
	}
	return endStep(steps, "create x/role", false)
}

func TestLiveLines(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name          string
		steps         []liveStep
		columns, rows int
		want          string
	}{
		{"running steps, then waiting steps with reasons", begun(), 80, 24, `
  … apply the plan since 15:04:05
  … create x/net since 15:04:06
  … create x/disk since 15:05:05
  · delete x/vm waits for a free worker
  · create x/vm waits for x/net, x/disk, delete x/vm
  · create x/address waits for x/vm
`},
		{"never more than the screen has", begun(), 80, 5, `
  … apply the plan since 15:04:05
  … create x/net since 15:04:06
  … create x/disk since 15:05:05
  · 3 more wait
`},
		{"not all running steps", begun(), 80, 3, `
  … apply the plan since 15:04:05
  · 5 more run or wait
`},
		{"a line is one row", begun(), 24, 24, `
  … apply the plan sin…
  … create x/net since…
  … create x/disk sinc…
  · delete x/vm waits …
  · create x/vm waits …
  · create x/address w…
`},
		{"a screen without room", begun(), 1, 1, "\n…\n"},
		{"dependents of a failed step are removed", endStep(begun(), "create x/net", true), 80, 24, `
  … apply the plan since 15:04:05
  … create x/disk since 15:05:05
  · delete x/vm waits for a free worker
`},
		{"an unplanned step", startStep(nil, "delete y", event.Event{Scope: event.Step, Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)}), 80, 24, "\n  … delete y since 03:04:05\n"},
		{"nothing when nothing runs", []liveStep{{Step: Step{ID: "create x"}}}, 80, 24, "\n\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff("\n"+strings.Join(liveLines(tt.steps, tt.columns, tt.rows), "\n")+"\n", tt.want); d != "" {
				t.Errorf("got -, want +:\n%s", d)
			}
		})
	}
}

func TestEraseLinesOnNarrowTerminal(t *testing.T) {
	t.Parallel()
	lines := []string{strings.Repeat("…", 50), "ab"}
	for columns, want := range map[int]string{80: "\r\x1b[2A\x1b[J", 50: "\r\x1b[2A\x1b[J", 40: "\r\x1b[3A\x1b[J", 20: "\r\x1b[4A\x1b[J"} {
		if got := eraseLines(lines, columns); got != want {
			t.Errorf("%d columns: got %q, want %q", columns, got, want)
		}
	}
	if got := eraseLines(nil, 80); got != "" {
		t.Errorf("nothing is erased with %q", got)
	}
}

func TestProgressIsDrawnOnlyOnCapableTerminal(t *testing.T) {
	t.Parallel()
	f, err := os.Create(filepath.Join(t.TempDir(), "terminal"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	for name, change := range map[string]func(*Streams){
		"a screen":        func(*Streams) {},
		"no terminal":     func(s *Streams) { s.errTerminal = false },
		"NO_COLOR":        func(s *Streams) { s.noColour = true },
		"TERM=dumb":       func(s *Streams) { s.dumb = true },
		"--accessible":    func(s *Streams) { s.accessible = true },
		"--verbose":       (*Streams).KeepLines,
		"a test's buffer": func(s *Streams) { s.Err = &strings.Builder{} },
	} {
		s := &Streams{Err: f, errTerminal: true, getenv: func(string) string { return "" }}
		change(s)
		if _, _, ok := s.liveSize(); ok != (name == "a screen") {
			t.Errorf("%s: written over: %t", name, ok)
		}
	}
}
