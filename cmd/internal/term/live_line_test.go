package term

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// written calls show with streams on a file, which is taken for a terminal if terminal is set, and returns
// what was written.
func written(t *testing.T, terminal bool, show func(*Streams)) string {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "terminal"))
	if err != nil {
		t.Fatal(err)
	}
	show(&Streams{Err: f, errTerminal: terminal, getenv: func(string) string { return "" }})
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestLiveLine(t *testing.T) {
	t.Parallel()
	show := func(s *Streams) {
		l := s.NewLiveLine()
		l.Set("Waiting", "1s")
		l.Set("Waiting", "2s")
		s.Notef("a note")
		l.Set("Starting\x1b[2J", "3s")
		l.Clear()
		l.Clear()
	}
	const erase = "\r\x1b[1A\x1b[J"
	want := "Waiting (1s)\n" + erase + "Waiting (2s)\n" + erase + "a note\nStarting\\x1b[2J (3s)\n" + erase
	if got := written(t, true, show); got != want {
		t.Errorf("a terminal: got %q, want %q", got, want)
	}
	if got, want := written(t, false, show), "Waiting\na note\nStarting\x1b[2J\n"; got != want {
		t.Errorf("no terminal: got %q, want %q", got, want)
	}
}

func TestLiveLineIsOneRow(t *testing.T) {
	t.Parallel()
	got := written(t, true, func(s *Streams) { s.NewLiveLine().Set(strings.Repeat("long ", 40), "3 of 12 in the queue, 5s") })
	if n := len([]rune(got)); n > 80 || !strings.HasSuffix(got, "… (3 of 12 in the queue, 5s)\n") {
		t.Errorf("got %d characters, want one row with the detail: %q", n, got)
	}
}
