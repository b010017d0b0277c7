package hostile_test

import (
	"fmt"
	"strings"
	"testing"
)

// failures collects attempts and controls with unexpected outcomes.
type failures struct {
	t     *testing.T
	lines []string
}

// gather repeats failures after all other output of a test, including the logs of its cluster. It
// must be called before the cluster is started.
func gather(t *testing.T) *failures {
	t.Helper()
	f := &failures{t: t}
	t.Cleanup(func() {
		if len(f.lines) > 0 {
			t.Logf("---- %d attempts or controls failed:\n%s", len(f.lines), strings.Join(f.lines, "\n"))
		}
	})
	return f
}

// addf fails the test, which continues.
func (f *failures) addf(format string, args ...any) {
	f.t.Helper()
	f.lines = append(f.lines, fmt.Sprintf(format, args...))
	f.t.Errorf(format, args...)
}
