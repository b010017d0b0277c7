package term

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func printedTable(t *testing.T, terminal, noColour bool) string {
	t.Helper()
	s, out, _ := Test("", terminal)
	s.noColour = noColour
	table := NewTable("NAME", ">SLOTS", "STATE")
	table.Row("山田", 12, "running")
	table.Row("Épochs", 1, "")
	table.Row("👩‍🚀", "−3", "a longer state")
	if err := s.PrintTable(table); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// The stream alone determines the format, even if the environment of the process requests colors.
func TestTableHasBoldHeadingOnTerminal(t *testing.T) {
	t.Parallel()
	plain := strings.Join([]string{
		"NAME    SLOTS  STATE",
		"山田       12  running",
		"Épochs      1  -",
		"👩‍🚀         −3  a longer state",
		"",
	}, "\n")
	for name, got := range map[string]string{
		"no terminal":             printedTable(t, false, false),
		"a terminal, NO_COLOR":    printedTable(t, true, true),
		"no terminal and no wish": printedTable(t, false, true),
	} {
		if d := cmp.Diff(got, plain); d != "" {
			t.Errorf("%s: got -, want +:\n%s", name, d)
		}
	}
	head, rest, _ := strings.Cut(plain, "\n")
	if d := cmp.Diff(printedTable(t, true, false), "\x1b[1m"+head+"\x1b[0m\n"+rest); d != "" {
		t.Errorf("a terminal with colours: got -, want +:\n%s", d)
	}
}

func TestPairsAlignWideCharacters(t *testing.T) {
	t.Parallel()
	s, out, _ := Test("", true)
	if err := s.PrintPairs([2]string{"山田", "x"}, [2]string{"State", "a  b"}); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "山田:  x\nState: a  b\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := s.PrintPairs([2]string{"State", ""}); err != nil || strings.HasSuffix(out.String(), "\n\n") {
		t.Errorf("without a value: got %q, %v, want nothing more", out, err)
	}
}

func TestStyles(t *testing.T) {
	t.Parallel()
	for style, want := range map[Style]string{
		Bold: "\x1b[1mx\x1b[0m", Faint: "\x1b[2mx\x1b[0m", Red: "\x1b[31mx\x1b[0m", Green: "\x1b[32mx\x1b[0m", Reversed: "\x1b[7mx\x1b[0m",
	} {
		if got := style.Paint("x"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
