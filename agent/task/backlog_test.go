package task

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/agent/journal"
)

func TestUnacknowledgedOutputIsBounded(t *testing.T) {
	t.Parallel()
	j, err := journal.Open(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close() //nolint:errcheck // the test is over
	const most = 16 << 20
	k := &backlog{journal: j, most: most}
	n := 0
	print := func() {
		t.Helper()
		var run []container.Line
		for range 100 {
			n++
			run = append(run, container.Line{
				Stream: container.Stdout, Text: fmt.Appendf(nil, "%d %s", n, strings.Repeat(".", 1000)), Next: container.Position{Lines: uint64(n)},
			})
		}
		if err := k.appendLines(run); err != nil {
			t.Fatal(err)
		}
	}
	for range 1000 { // 100 MB
		print()
	}
	if got := j.Held(); got > most+1<<20 {
		t.Errorf("got %d bytes, want at most %d", got, most)
	}
	if behind := n - int(j.Position().Lines); behind*1000 > 2*dropStep {
		t.Errorf("the journal is %d lines behind what was dropped", behind)
	}
	held := j.Next()
	if err := j.Release(held); err != nil { // the master is connected again
		t.Fatal(err)
	}
	print()
	if err := k.noteDropped(); err != nil || int(j.Position().Lines) != n {
		t.Errorf("got position %d and %v, want %d", j.Position().Lines, err, n)
	}
	lines, err := j.Read(held-1, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	last := string(lines[len(lines)-1].Text)
	notes := 0
	for _, l := range lines {
		if strings.Contains(string(l.Text), "lines of output were dropped here") {
			notes++
		}
	}
	if notes == 0 || !strings.HasPrefix(last, fmt.Sprint(n)+" ") {
		t.Errorf("got %d notes and at last %.20q, want what was dropped to be said, and the newest line", notes, last)
	}
}
