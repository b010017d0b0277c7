package journal

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/container"
)

// onDisk returns the allocated size of a file in bytes.
func onDisk(t *testing.T, name string) int64 {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(name, &st); err != nil {
		t.Fatal(err)
	}
	return st.Blocks * 512
}

// long returns lines of one kilobyte.
func long(from, n int) []container.Line {
	out := lines(from, n)
	for i := range out {
		out[i].Text = append(out[i].Text, bytes.Repeat([]byte("."), 1000)...)
	}
	return out
}

func TestAcknowledgedLinesAreDeleted(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "log")
	j := open(t, name)
	const n, most = 40_000, 12 << 20
	for i := 0; i < n; i += 1000 {
		if err := j.Append(long(i, 1000)); err != nil {
			t.Fatal(err)
		}
		if err := j.Release(uint64(i)); err != nil { // the last thousand is unacknowledged
			t.Fatal(err)
		}
		if first := j.First(); first > uint64(i) {
			t.Fatalf("with the lines before %d acknowledged: got line %d first", i, first)
		}
		if got := onDisk(t, name); got > most || j.Held() > most {
			t.Fatalf("after %d lines the journal takes %d bytes and holds %d, want at most %d", i, got, j.Held(), most)
		}
	}
	info, err := os.Stat(name)
	if err != nil || info.Size() < 40<<20 {
		t.Fatalf("got %v, %v, want that more was written than is kept", info, err)
	}
	again := open(t, name)
	if again.First() != j.First() || again.Next() != n || again.Position() != j.Position() || again.Held() != j.Held() {
		t.Errorf("read again: got lines %d to %d at %+v, want %d to %d at %+v", again.First(), again.Next(), again.Position(), j.First(), j.Next(), j.Position())
	}
	if first := again.First(); first < n-10_000 || first > n-1000 {
		t.Errorf("got line %d first", first)
	}
	for _, from := range []uint64{again.First(), n - 1000, n - 1} {
		if got := readAll(t, again, from, 1<<20); len(got) != n-int(from) || !strings.HasPrefix(got[0], "line ") {
			t.Errorf("from %d: got %d lines", from, len(got))
		}
	}
	if _, err := again.Read(again.First()-1, 1000); err == nil || !strings.Contains(err.Error(), "and released") {
		t.Errorf("a line that was given up: got %v", err)
	}
	if err := again.Append(long(n, 3)); err != nil {
		t.Fatal(err)
	}
	if third := open(t, name); third.Next() != n+3 || len(readAll(t, third, n, 1<<20)) != 3 {
		t.Errorf("got %d lines, want it to go on", third.Next())
	}
}

// If an agent is killed between the two steps of a release, the next one finds the lines.
func TestLinesAreFoundAfterPartialRelease(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "log")
	j := open(t, name)
	if err := j.Append(long(0, 10_000)); err != nil {
		t.Fatal(err)
	}
	to := j.index[5120/indexStep]
	skip := appendRecord(nil, record{line: Line{Seq: 5120, Stream: skipStream}, pos: container.Position{Stdout: to}})
	if _, err := j.file.WriteAt(skip, 0); err != nil {
		t.Fatal(err)
	}
	again := open(t, name)
	if got := readAll(t, again, 5120, 1<<20); again.First() != 5120 || len(got) != 10_000-5120 || !strings.HasPrefix(got[0], "line 5120.") {
		t.Errorf("got %d lines from %d on", len(got), again.First())
	}
}

func TestInvalidJournalIsRejected(t *testing.T) {
	t.Parallel()
	for _, at := range []int64{-1, 0, 1 << 40} {
		name := filepath.Join(t.TempDir(), "log")
		b := appendRecord(nil, record{line: Line{Seq: indexStep, Stream: skipStream, At: time.UnixMicro(1)}, pos: container.Position{Stdout: at}})
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(name); err == nil || !strings.Contains(err.Error(), "invalid release record") {
			t.Errorf("at %d: got %v", at, err)
		}
	}
}
