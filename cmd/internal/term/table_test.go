package term_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/test/golden"
)

func now() time.Time { return time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC) }

// tasks returns a table like that of `task list`, with names in several scripts.
func tasks(n int) *term.Table {
	t := term.TableOf(
		term.Column{Head: "ID"},
		term.Column{Head: "NAME", Rank: 2, Shortest: 16},
		term.Column{Head: "USER", Rank: 5, Shortest: 8},
		term.Column{Head: "STATE", Rank: 1},
		term.Column{Head: "POOL", Rank: 7, Shortest: 8},
		term.Column{Head: "AGE", Rank: 3},
		term.Column{Head: "DURATION", Rank: 4},
		term.Column{Head: ">EXIT", Rank: 4},
		term.Column{Head: "REASON", Rank: 6, Shortest: 20},
		term.Column{Head: "JOB", Wide: true},
	)
	names := []string{"train", "学習ジョブ・大規模言語モデル・事前学習", "évaluation-du-modèle-final", "데이터 전처리", strings.Repeat("long-", 30), "👩‍🔬 research"}
	reasons := []string{"", "waits for 8 slots in pool gpu-large, where 3 of 64 are free", "ended with code 137: 内存不足"}
	for i := range n {
		id := fmt.Sprintf("%08x-0f7e-4d8e-9d3b-%012x", i*7919, i)
		t.Row(term.ID(id), names[i%len(names)], []string{"ada", "grace-hopper-of-the-navy"}[i%2], []string{"running", "succeeded", "preempted"}[i%3],
			"gpu-large-preemptible", now().Add(-time.Duration(i*i)*time.Minute), time.Duration(i*i)*time.Second, i%3, reasons[i%3], term.ID(id))
	}
	return t
}

func TestTableFitsTerminal(t *testing.T) {
	t.Parallel()
	for width := 20; width <= 300; width++ {
		s, _, _ := term.Test("", true)
		lines := s.WithSize(width, 24).TableLines(tasks(500), term.Look{Now: now()})
		if len(lines) != 501 {
			t.Fatalf("got %d lines for 500 rows", len(lines))
		}
		for _, line := range lines {
			if ansi.StringWidth(line) > width {
				t.Fatalf("at %d columns the line is %d wide:\n%s", width, ansi.StringWidth(line), line)
			}
		}
		if !strings.HasPrefix(lines[0], "ID ") || width >= 40 && !strings.Contains(lines[0], "STATE") {
			t.Fatalf("at %d columns the headings are %q", width, lines[0])
		}
	}
}

// A column without any text makes room for a less important one.
func TestEmptyColumnsAreLeftOutFirst(t *testing.T) {
	t.Parallel()
	table := term.TableOf(term.Column{Head: "ID"}, term.Column{Head: "REASON", Rank: 1}, term.Column{Head: "COMMAND", Rank: 2})
	table.Row("a", "", "python train.py")
	s, _, _ := term.Test("", true)
	for width, want := range map[int]string{40: "ID  REASON  COMMAND", 20: "ID  COMMAND"} {
		if got := s.WithSize(width, 24).TableLines(table, term.Look{Now: now()})[0]; got != want {
			t.Errorf("at %d columns: got %q, want %q", width, got, want)
		}
	}
}

func TestTableGoldens(t *testing.T) {
	t.Parallel()
	for _, width := range []int{80, 120} {
		s, _, _ := term.Test("", true)
		got := strings.Join(s.WithSize(width, 24).TableLines(tasks(12), term.Look{Now: now()}), "\n") + "\n"
		golden.Compare(t, fmt.Sprintf("testdata/table_%d.golden", width), got)
	}
}

func TestTableOutsideTerminalIsWhole(t *testing.T) {
	t.Parallel()
	s, out, _ := term.Test("", false)
	if err := s.PrintTableAs(tasks(5), term.Look{Now: now()}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"00000000-0f7e-4d8e-9d3b-000000000000", strings.Repeat("long-", 30), "gpu-large-preemptible", "where 3 of 64 are free"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if strings.Contains(out.String(), "JOB") || strings.Contains(out.String(), "…") {
		t.Errorf("got\n%s", out)
	}
}

func TestWideTableHasDatesAndAllColumns(t *testing.T) {
	t.Parallel()
	s, out, _ := term.Test("", true)
	if err := s.WithSize(40, 24).PrintTableAs(tasks(2), term.Look{Now: now(), Wide: true, UTC: true}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"JOB", "2026-03-04T11:59:00Z", "grace-hopper-of-the-navy", "00001eef-0f7e-4d8e-9d3b-000000000001"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
}

func TestShortIDsDistinguishRows(t *testing.T) {
	t.Parallel()
	table := term.TableOf(term.Column{Head: "ID"})
	for _, id := range []string{"5d1f6f2e-0f7e-4d8e-9d3b-000000000001", "5d1f6f2e-0f71-4d8e-9d3b-000000000001", "not-a-uuid-that-is-36-characters-xyz", ""} {
		table.Row(term.ID(id))
	}
	s, _, _ := term.Test("", true)
	got := s.WithSize(80, 24).TableLines(table, term.Look{Now: now()})
	want := []string{"ID", "5d1f6f2e-0f7e", "5d1f6f2e-0f71", "not-a-uuid-that-is-36-characters-xyz", "-"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("want -, got +:\n%s", d)
	}
}

func TestCSVAndNames(t *testing.T) {
	t.Parallel()
	table := term.TableOf(term.Column{Head: "ID"}, term.Column{Head: "LAST LOGIN"}, term.Column{Head: ">DURATION"}, term.Column{Head: "JOB", Wide: true})
	table.Row(term.ID("5d1f6f2e-0f7e-4d8e-9d3b-000000000001"), now(), 90*time.Minute, "a, \"b\"")
	table.Row("x\x1b[2J", time.Time{}, time.Duration(0))
	table.Row("=1+1", time.Time{}, time.Duration(0), "-3")
	s, out, _ := term.Test("", true)
	s = s.WithSize(20, 24)
	if err := s.PrintCSV(table); err != nil {
		t.Fatal(err)
	}
	if err := s.PrintNames(table); err != nil {
		t.Fatal(err)
	}
	want := `id,last-login,duration,job
5d1f6f2e-0f7e-4d8e-9d3b-000000000001,2026-03-04T12:00:00Z,5400,"a, ""b"""
x [2J,,0,
'=1+1,,0,-3
5d1f6f2e-0f7e-4d8e-9d3b-000000000001
x [2J
=1+1
`
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Errorf("want -, got +:\n%s", d)
	}
}

func TestScreenIsRedrawnWithinTerminal(t *testing.T) {
	t.Parallel()
	s, out, _ := term.Test("", true)
	screen := s.WithSize(30, 5).NewScreen()
	for range 2 {
		if err := screen.Draw([]string{"head", "1", "2", "3", "4", strings.Repeat("x", 40)}); err != nil {
			t.Fatal(err)
		}
	}
	once := "head\n1\n2\n… 3 more\n"
	if want := once + "\r\x1b[4A\x1b[J" + once; out.String() != want {
		t.Errorf("got %q, want %q", out, want)
	}
	if s, _, _ := term.Test("", false); s.NewScreen() != nil {
		t.Error("drawn without a terminal")
	}
}
