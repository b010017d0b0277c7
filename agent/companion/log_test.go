package companion_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/agent/companion"
)

func TestLastWordsAreThoseSinceASize(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "log")
	log := companion.Log(file)
	if got := log.Size(); got != 0 {
		t.Errorf("without a file its size is %d", got)
	}
	if got := log.LastWords(0); !strings.Contains(got, "no log") || !strings.Contains(got, file) {
		t.Errorf("without a file it says %q, want that there is none, and where", got)
	}
	before := "an old word\n"
	if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	from := log.Size()
	if got := log.LastWords(from); !strings.Contains(got, "said nothing") {
		t.Errorf("with nothing new it says %q", got)
	}
	if err := os.WriteFile(file, []byte(before+"one\ntwo\n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for from, want := range map[int64]string{0: "two", from: "two", 1 << 20: "it said nothing in " + file} {
		if got := log.LastWords(from); got != want {
			t.Errorf("since %d it says %q, want %q", from, got, want)
		}
	}
}

func TestALogThatIsTooLongIsTruncated(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "log")
	for size, want := range map[int]int64{companion.LogMost: companion.LogMost, companion.LogMost + 1: 0} {
		if err := os.WriteFile(file, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := companion.Log(file).Size(); got != want {
			t.Errorf("of %d bytes %d are left, want %d", size, got, want)
		}
	}
}
