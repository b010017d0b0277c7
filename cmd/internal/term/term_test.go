package term_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
)

func TestConfirm(t *testing.T) {
	t.Parallel()
	tests := []struct {
		typed string
		want  bool
	}{
		{"y\n", true},
		{"Yes\n", true},
		{"\n", false},
		{"n\n", false},
		{"yep\n", false},
		{"y", true}, // the input ends without a newline
	}
	for _, tt := range tests {
		t.Run(tt.typed, func(t *testing.T) {
			t.Parallel()
			s, out, errs := term.Test(tt.typed, true)
			got, err := s.Confirm(t.Context(), term.Question{Text: "Apply this plan?", Flag: "--yes"})
			if err != nil || got != tt.want {
				t.Errorf("got %t, %v; want %t", got, err, tt.want)
			}
			if out.Len() != 0 || errs.String() != "Apply this plan? [y/N] " {
				t.Errorf("got stdout %q, stderr %q; want the question on stderr only", out, errs)
			}
		})
	}
}

func TestDeclinedChangeIsConfirmed(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{"n\n": "Go on? [y/N] Nothing was changed.\n", "y\n": "Go on? [y/N] "} {
		s, _, errs := term.Test(typed, true)
		if _, err := s.Agreed(t.Context(), false, "Go on?"); err != nil || errs.String() != want {
			t.Errorf("%q: got %q and %v, want %q", typed, errs, err, want)
		}
	}
}

func TestPromptWithoutTerminalNamesFlag(t *testing.T) {
	t.Parallel()
	s, _, errs := term.Test("y\n", false)
	_, err := s.Confirm(t.Context(), term.Question{Text: "Apply this plan?", Flag: "--yes"})
	if _, ok := errors.AsType[*usage.Error](err); !ok || !strings.Contains(err.Error(), "use --yes") {
		t.Errorf("got %v, want a usage error that names --yes", err)
	}
	if errs.Len() != 0 {
		t.Errorf("got %q on stderr, want nothing", errs)
	}
}

func TestFillAsksRepeatedly(t *testing.T) {
	t.Parallel()
	s, _, _ := term.Test("y\nlab\nsecret\n", true)
	first, err1 := s.Confirm(t.Context(), term.Question{Text: "Sure?"})
	second, err2 := s.ConfirmTyped(t.Context(), term.Question{Text: "Really?"}, "lab")
	third, err3 := s.Password(t.Context(), term.Question{Text: "Password:"})
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	if !first || !second || third != "secret" {
		t.Errorf("got %t, %t, %q; want true, true, secret", first, second, third)
	}
}

func TestCanceledPromptReturnsError(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s, _, _ := term.Test("", true)
	s.In = blocked{t.Context()}
	if _, err := s.Confirm(ctx, term.Question{Text: "Sure?"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

// blocked is an input without any data.
type blocked struct{ ctx context.Context }

func (b blocked) Read([]byte) (int, error) {
	<-b.ctx.Done()
	return 0, b.ctx.Err()
}

func TestTable(t *testing.T) {
	t.Parallel()
	s, out, _ := term.Test("", false)
	table := term.NewTable("NAME", ">SLOTS", "STATE")
	table.Row("a", 12, "running")
	table.Row("långt namn", 1, "")
	table.Row("evil\x1b[2Jname\n", 0)
	if err := s.PrintTable(table); err != nil {
		t.Fatal(err)
	}
	want := `NAME           SLOTS  STATE
a                 12  running
långt namn         1  -
evil [2Jname       0  -
`
	if d := cmp.Diff(out.String(), want); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
}

func TestPairsOmitEmptyValues(t *testing.T) {
	t.Parallel()
	s, out, _ := term.Test("", false)
	if err := s.PrintPairs([2]string{"ID", "x"}, [2]string{"Reason", ""}, [2]string{"State", "queued"}); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "ID:    x\nState: queued\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestErrorsHaveNoColorWithoutTerminal(t *testing.T) {
	t.Parallel()
	s, out, errs := term.Test("", false)
	s.PrintError([]string{"one", "two"}, "det-deploy version")
	if got, want := errs.String(), "error: one\n       two\n  try: det-deploy version\n"; got != want || out.Len() != 0 {
		t.Errorf("got %q, want %q", got, want)
	}
}
