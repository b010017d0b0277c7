package golden

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// judge records the failures of a test in place of failing.
type judge struct {
	testing.TB
	said []string
}

func (j *judge) Helper()                      {}
func (j *judge) Name() string                 { return "TestOfTheirs" }
func (j *judge) Errorf(form string, a ...any) { j.said = append(j.said, fmt.Sprintf(form, a...)) }

func TestStaleFileIsReported(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "deep", "page.md")
	write(t, path, "head\n<begin>\nold\n<end>\ntail\n")
	j := &judge{TB: t}
	ComparePart(j, path, "<begin>\n", "<end>\n", "old\n")
	Compare(j, path, "head\n<begin>\nold\n<end>\ntail\n")
	if len(j.said) > 0 {
		t.Errorf("got %q of a file that is as it was made", j.said)
	}
	ComparePart(j, path, "<begin>\n", "<end>\n", "new\n")
	if len(j.said) != 1 || !strings.Contains(j.said[0], path) || !strings.Contains(j.said[0], "run TestOfTheirs with -update") {
		t.Errorf("got %q, want the page and how to write it", j.said)
	}
	if kept, err := os.ReadFile(path); err != nil || !strings.Contains(string(kept), "old") {
		t.Errorf("got %q and %v, want the page as it was", kept, err)
	}
}
