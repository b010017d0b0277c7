package journal

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/det-deploy/det-deploy/agent/container"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t testing.TB, name string) *Journal {
	t.Helper()
	j, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j
}

func lines(from, n int) []container.Line {
	out := make([]container.Line, n)
	for i := range out {
		k := from + i
		stream := container.Stdout
		if k%3 == 0 {
			stream = container.Stderr
		}
		out[i] = container.Line{
			At: time.UnixMicro(int64(k)), Stream: stream, Text: fmt.Appendf(nil, "line %d", k),
			Next: container.Position{Lines: uint64(k + 1), Stdout: int64(10 * k), Stderr: int64(k)},
		}
	}
	return out
}

func readAll(t *testing.T, j *Journal, from uint64, size int) []string {
	t.Helper()
	var out []string
	for {
		got, err := j.Read(from, size)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) == 0 {
			return out
		}
		for _, l := range got {
			if l.Seq != from {
				t.Fatalf("got line %d, want %d", l.Seq, from)
			}
			out = append(out, string(l.Text))
			from++
		}
	}
}

func TestLinesAreReadFromAnyNumber(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "log")
	j := open(t, name)
	const n = 3 * indexStep
	for i := 0; i < n; i += 100 {
		if err := j.Append(lines(i, min(100, n-i))); err != nil {
			t.Fatal(err)
		}
	}
	again := open(t, name)
	for _, j := range []*Journal{j, again} {
		if j.Next() != n || j.Position() != (container.Position{Lines: n, Stdout: 10 * (n - 1), Stderr: n - 1}) {
			t.Errorf("got %d at %+v", j.Next(), j.Position())
		}
		for _, from := range []uint64{0, 1, indexStep - 1, indexStep, n - 1, n, n + 5} {
			got := readAll(t, j, from, 1000)
			if want := max(0, n-int(from)); len(got) != want {
				t.Fatalf("from %d: got %d lines, want %d", from, len(got), want)
			}
			if len(got) > 0 && got[0] != fmt.Sprintf("line %d", from) {
				t.Errorf("from %d: got %q first", from, got[0])
			}
		}
	}
	got, err := j.Read(4, 1)
	want := []Line{{Seq: 4, At: time.UnixMicro(4), Stream: container.Stdout, Text: []byte("line 4")}}
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
}

func TestPartialLinesStaySo(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "log")
	var want []string
	for i, stream := range []string{container.Stdout, container.Stderr, container.Stdout} {
		l := container.Line{Stream: stream, Partial: i < 2, Next: container.Position{Lines: uint64(i + 1)}}
		if err := open(t, name).Append([]container.Line{l}); err != nil {
			t.Fatal(err)
		}
		want = append(want, fmt.Sprint(l.Stream, l.Partial))
	}
	lines, err := open(t, name).Read(0, 1000)
	var got []string
	for _, l := range lines {
		got = append(got, fmt.Sprint(l.Stream, l.Partial))
	}
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
}

// Wherever the file is truncated, the complete records remain and appending continues.
func TestPartialRecordIsTruncated(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "log")
	j := open(t, name)
	if err := j.Append(lines(0, 3)); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	size := len(whole) / 3
	for cut := range whole {
		name := filepath.Join(dir, fmt.Sprint(cut))
		if err := os.WriteFile(name, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		j := open(t, name)
		kept := cut / size
		if int(j.Next()) != kept || int(j.Position().Lines) != kept {
			t.Fatalf("cut at %d: got %d lines at %+v, want %d", cut, j.Next(), j.Position(), kept)
		}
		if err := j.Append(lines(kept, 3-kept)); err != nil {
			t.Fatal(err)
		}
		if after, err := os.ReadFile(name); err != nil || !bytes.Equal(after, whole) {
			t.Fatalf("cut at %d: the file differs after writing again", cut)
		}
	}
}

func TestNotesMoveNothing(t *testing.T) {
	t.Parallel()
	j := open(t, filepath.Join(t.TempDir(), "log"))
	if err := j.Append(lines(0, 2)); err != nil {
		t.Fatal(err)
	}
	before := j.Position()
	if err := j.Note(time.UnixMicro(9), "pulling"); err != nil {
		t.Fatal(err)
	}
	if j.Position() != before || j.Next() != 3 {
		t.Errorf("got %d at %+v, want 3 at %+v", j.Next(), j.Position(), before)
	}
}

func FuzzOpen(f *testing.F) {
	b := appendRecord(nil, record{line: Line{Text: []byte("hello")}})
	f.Add(b)
	f.Add(append(bytes.Clone(b), b...))
	f.Add(b[:len(b)-1])
	f.Add([]byte(strings.Repeat("\xff", 60)))
	f.Fuzz(func(t *testing.T, data []byte) {
		name := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		j := open(t, name)
		n := j.Next()
		if err := j.Note(time.UnixMicro(1), "after"); err != nil {
			t.Fatal(err)
		}
		got := readAll(t, j, 0, 1<<20)
		if uint64(len(got)) != n+1 || got[n] != "after" {
			t.Fatalf("got %d lines, want %d and the new one", len(got), n)
		}
		again := open(t, name)
		if again.Next() != n+1 {
			t.Fatalf("got %d lines when read again, want %d", again.Next(), n+1)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	j := open(b, filepath.Join(b.TempDir(), "log"))
	batch := lines(0, 100)
	for b.Loop() {
		if err := j.Append(batch); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(100*float64(b.N)/b.Elapsed().Seconds(), "lines/s")
}
