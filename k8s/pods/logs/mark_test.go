package logs

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// book stores lines like a log: each number once, without gaps.
type book struct {
	lines []string
	// partial are the numbers of partial lines.
	partial []int
}

func (b *book) AppendLogs(_ context.Context, _ rm.AgentID, l *agentv1.Logs) (uint64, error) {
	for i, line := range l.GetLines() {
		switch n := int(l.GetFirstSeq()) + i; {
		case n < len(b.lines):
		case n == len(b.lines):
			b.lines = append(b.lines, string(line.GetText()))
			if line.GetPartial() {
				b.partial = append(b.partial, n)
			}
		default:
			return uint64(len(b.lines)), nil
		}
	}
	return uint64(len(b.lines)), nil
}

func (b *book) NextSeq(context.Context, rm.AllocationID, rm.ContainerID) (uint64, error) {
	return uint64(len(b.lines)), nil
}

type fileLine struct {
	at   time.Time
	text string
}

// served returns the lines of a file that a node sends: those that are not older than since.
func served(file []fileLine, since time.Time) []byte {
	var b bytes.Buffer
	for _, l := range file {
		if !l.at.Before(since) {
			fmt.Fprintf(&b, "%s %s\n", l.at.Format(time.RFC3339Nano), l.text)
		}
	}
	return b.Bytes()
}

func reader(store rm.Logs) *Follower {
	return New(Config{
		Log: slog.New(slog.DiscardHandler), Store: store, Metrics: NewMetrics(), SaveMark: func(context.Context, Mark) error { return nil },
		Allocation: "a.1", Container: "c", Node: "n1", Pod: "p", Patience: time.Second,
	})
}

// Each line is stored once, for any timing of the output and any interruptions of the reader.
func TestLinesAreStoredOnceWhereverReadingBreaksOff(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var file []fileLine
		at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
		for i := range rapid.IntRange(0, 60).Draw(t, "lines") {
			at = at.Add(time.Duration(rapid.SampledFrom([]int{-3, 0, 1, 400_000_000, 2_000_000_000}).Draw(t, "step")))
			text := fmt.Sprintf("line %d", i)
			switch rapid.IntRange(0, 15).Draw(t, "long") {
			case 0:
				text = strings.Repeat(text+" ", 25_000)
			case 1, 2:
				text = strings.Repeat("\r"+text, 3)
			case 3:
				text += "\r"
			}
			file = append(file, fileLine{at, text})
		}
		store := &book{}
		l := reader(store)
		kept := l.mark
		for range rapid.IntRange(1, 6).Draw(t, "interruptions") {
			data := served(file, l.mark.sinceTime())
			cut := rapid.IntRange(0, len(data)).Draw(t, "cut")
			if err := l.storeLines(t.Context(), io.MultiReader(bytes.NewReader(data[:cut])), false); err != nil {
				t.Fatal(err)
			}
			if rapid.Bool().Draw(t, "the master is killed") {
				// Its stored position is an older one.
				l = reader(store)
				l.mark, l.marked = kept, true
			}
			kept = l.mark
		}
		if err := l.storeLines(t.Context(), bytes.NewReader(served(file, l.mark.sinceTime())), true); err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, f := range file {
			want = append(want, pieces(f.text)...)
		}
		if d := cmp.Diff(store.lines, want); d != "" {
			t.Errorf("got -, want +:\n%s", d)
		}
	})
}

// pieces returns the parts of a line as they are stored.
func pieces(text string) []string {
	var out []string
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\r' }) {
		for len(line) > longestLine {
			out, line = append(out, line[:longestLine]), line[longestLine:]
		}
		out = append(out, line)
	}
	if out == nil {
		return []string{""}
	}
	return out
}

// A log that was started by a version without carriage returns as line ends keeps its numbering.
func TestLogKeepsInitialNumbering(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	file := []fileLine{{at, "1%\r2%"}, {at.Add(time.Second), "3%\r4%"}}
	for _, c := range []struct {
		mark Mark
		want []string
	}{
		{Mark{}, []string{"1%", "2%", "3%", "4%"}},
		{Mark{Second: at, Newer: 1, First: at, Turn: at, Last: at, Seq: 1}, []string{"1%\r2%", "3%\r4%"}},
		{Mark{Second: at, Newer: 1, First: at, Turn: at, Last: at, Seq: 2, Returns: true}, []string{"1%", "2%", "3%", "4%"}},
	} {
		store := &book{lines: c.want[:c.mark.Seq]}
		l := reader(store)
		l = New(Config{Log: l.cfg.Log, Store: store, Metrics: l.cfg.Metrics, SaveMark: l.cfg.SaveMark, Mark: c.mark})
		if err := l.storeLines(t.Context(), bytes.NewReader(served(file, l.mark.sinceTime())), true); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(store.lines, c.want); d != "" {
			t.Errorf("%+v: got -, want +:\n%s", c.mark, d)
		}
		if l.mark.Returns != (c.mark.Seq == 0 || c.mark.Returns) {
			t.Errorf("%+v became %+v", c.mark, l.mark)
		}
	}
}

func TestLogRotationIsReported(t *testing.T) {
	t.Parallel()
	at := func(second, nano int) time.Time { return time.Date(2026, 11, 21, 10, 0, second, nano, time.UTC) }
	file := []fileLine{{at(1, 1), "one"}, {at(1, 2), "two"}, {at(1, 3), "three"}, {at(2, 4), "four"}, {at(3, 5), "five"}}
	for name, c := range map[string]struct {
		read, left int
		// stored is the number of lines in the store after the mark.
		stored int
		want   string
	}{
		"nothing is gone":                              {read: 2, left: 0, want: "one two three four five"},
		"what is gone was read":                        {read: 3, left: 1, want: "one two three four five"},
		"the last line read is the first that is left": {read: 2, left: 1, want: "one two three four five"},
		"what follows the mark is left":                {read: 2, left: 2, want: "one two GAP three four five"},
		"lines are gone":                               {read: 2, left: 3, want: "one two GAP four five"},
		"the store is beyond the mark":                 {read: 2, left: 3, stored: 1, want: "one two three GAP four five"},
		"what is left is in the store":                 {read: 2, left: 2, stored: 2, want: "one two three four five"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := &book{}
			l := reader(store)
			if err := l.storeLines(t.Context(), bytes.NewReader(served(file[:c.read], time.Time{})), false); err != nil {
				t.Fatal(err)
			}
			last := file[c.read+c.stored-1].at
			for _, f := range file[c.read : c.read+c.stored] {
				store.lines = append(store.lines, f.text)
			}
			l.marked = true
			l.cfg.LastLine = func(context.Context, rm.AllocationID, rm.ContainerID) (time.Time, error) { return last, nil }
			if err := l.storeLines(t.Context(), bytes.NewReader(served(file[c.left:], l.mark.sinceTime())), true); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, line := range store.lines {
				if strings.Contains(line, "may be missing") {
					line = "GAP"
				}
				got = append(got, line)
			}
			if d := cmp.Diff(strings.Join(got, " "), c.want); d != "" {
				t.Errorf("got -, want +:\n%s", d)
			}
		})
	}
}

// A program that never ends its line must not fill the master's memory; its output is stored in
// parts.
func TestUnterminatedLineIsStoredInParts(t *testing.T) {
	t.Parallel()
	store := &book{}
	l := reader(store)
	const pieces = 100
	text := strings.NewReader("2026-11-21T10:00:00Z " + strings.Repeat("x", pieces*longestLine))
	seen := 0
	growing := readerFunc(func(p []byte) (int, error) {
		seen = max(seen, len(store.lines))
		return text.Read(p)
	})
	if err := l.storeLines(t.Context(), growing, false); err != nil {
		t.Fatal(err)
	}
	if seen < pieces-1 || len(store.lines) != seen {
		t.Errorf("got %d pieces before the end and %d behind it, want %d", seen, len(store.lines), pieces-1)
	}
	if l.mark.Seq != 0 {
		t.Errorf("got mark %d behind a line that has no end, want 0", l.mark.Seq)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestLongLinesAreCut(t *testing.T) {
	t.Parallel()
	store := &book{}
	l := reader(store)
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	file := []fileLine{{at, strings.Repeat("x", longestLine) + "y"}, {at, ""}, {at, "z"}}
	if err := l.storeLines(t.Context(), bytes.NewReader(served(file, at)), true); err != nil {
		t.Fatal(err)
	}
	var got []int
	for _, line := range store.lines {
		got = append(got, len(line))
	}
	if d := cmp.Diff(got, []int{longestLine, 1, 0, 1}); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
	if d := cmp.Diff(store.partial, []int{0}); d != "" {
		t.Errorf("partial lines: got -, want +:\n%s", d)
	}
}
