package hostile_test

import (
	"fmt"
	"strings"
	"testing"
)

// failures are the attempts and controls that did not come out as they should.
type failures struct {
	t     *testing.T
	lines []string
}

// gather repeats failures behind everything else that a test prints, the logs of
// its cluster among it. It is called before the cluster is started.
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

// addf fails the test, which goes on.
func (f *failures) addf(format string, args ...any) {
	f.t.Helper()
	f.lines = append(f.lines, fmt.Sprintf(format, args...))
	f.t.Errorf(format, args...)
}
