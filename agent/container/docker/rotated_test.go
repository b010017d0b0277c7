package docker

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/agent/container"
)

// piece is a piece of output with a time in seconds.
func piece(stream byte, second int, text string) []byte {
	text = time.Unix(int64(second), 0).UTC().Format(time.RFC3339Nano) + " " + text
	b := binary.BigEndian.AppendUint32([]byte{stream, 0, 0, 0}, uint32(len(text)))
	return append(b, text...)
}

func second(n int) int64 { return time.Unix(int64(n), 0).UnixNano() }

// Reading a rotated log continues where it ended.
func TestRotatedLogIsReadOn(t *testing.T) {
	t.Parallel()
	const dropped = "output was lost here: the engine rotated the log before it was read"
	whole := slices.Concat(piece(1, 100, "a\n"), piece(2, 101, "b\n"), piece(1, 102, "c\n"), piece(1, 103, "d\n"))
	left := slices.Concat(piece(2, 101, "b\n"), piece(1, 102, "c\n"), piece(1, 103, "d\n"))
	at := func(lines uint64, last int) container.Position {
		return container.Position{Lines: lines, Stdout: second(100), Stderr: second(last)}
	}
	for _, tc := range []struct {
		name string
		log  []byte
		from container.Position
		want []string
	}{
		{"whole", whole, at(2, 101), []string{"3 stdout c", "4 stdout d"}},
		{"whole, and read by an earlier version", whole, container.Position{Lines: 3}, []string{"4 stdout d"}},
		{"rotated, from its first piece", left, at(2, 101), []string{"3 stdout c", "4 stdout d"}},
		{"rotated, from a later one", left, at(3, 102), []string{"4 stdout d"}},
		{"rotated, read to its end", left, at(4, 103), nil},
		{"rotated, and more than was read is gone", left, at(1, 100), []string{"2 stderr " + dropped, "3 stderr b", "4 stdout c", "5 stdout d"}},
		{
			"rotated, and pieces of two streams are not in the order of their times",
			slices.Concat(piece(2, 101, "x\n"), piece(1, 104, "y\n"), piece(2, 102, "z\n"), piece(1, 105, "last\n")), at(7, 104),
			[]string{"8 stderr z", "9 stdout last"},
		},
		{
			"rotated, and its piece cannot be found", slices.Concat(piece(1, 101, "c\n"), piece(1, 200, "d\n")), at(3, 150),
			[]string{"4 stderr " + dropped, "5 stdout c", "6 stdout d"},
		},
		{
			"rotated, and the clock was set back before its piece", slices.Concat(piece(1, 501, "c\n"), piece(2, 101, "d\n"), piece(2, 102, "e\n")),
			at(4, 101),
			[]string{"5 stderr e"},
		},
		{
			"rotated, at the end of a line of three pieces",
			slices.Concat(piece(2, 101, "b\n"), piece(1, 102, "1"), piece(1, 102, "2"), piece(1, 102, "3\n"), piece(1, 103, "d\n")), at(3, 102),
			[]string{"4 stdout d"},
		},
		{
			"rotated, at the end of a line between two pieces of another",
			slices.Concat(piece(1, 101, "1"), piece(2, 102, "b\n"), piece(1, 101, "2\n")), at(3, 102),
			[]string{"4 stdout 12"},
		},
	} {
		got, err := demuxed(tc.log, tc.from)
		if err != nil || !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %q, %v, want %q", tc.name, got, err, tc.want)
		}
	}
}

// A line that is too long is split, and reading continues from each part, also when the start of
// the log is gone.
func TestLongLineResumesAfterCut(t *testing.T) {
	t.Parallel()
	const pieces = 20
	long := slices.Concat(piece(1, 101, "a\n"), piece(2, 102, "b\n"))
	for i := range pieces {
		long = slices.Concat(long, piece(2, 103, strings.Repeat(string(rune('a'+i)), 16<<10)))
		if i == pieces/2 { // much later
			long = slices.Concat(long, piece(1, 900, "c\n"))
		}
	}
	for name, end := range map[string][]byte{
		"to its end": slices.Concat(piece(2, 103, "\n"), piece(1, 901, "d\n"), piece(2, 902, "e\n")), "without an end": nil,
	} {
		whole := slices.Concat(piece(1, 100, "gone\n"), long, end)
		var all []container.Line
		lines, err := readFrames(whole, container.Position{}, &all)
		if err != nil || len(lines) < 8 {
			t.Fatalf("%s: got %d lines and %v, want the long one cut", name, len(lines), err)
		}
		for i := 1; i < len(all); i++ { // the first line is gone but was read
			for rest, data := range map[string][]byte{"whole": whole, "rotated": slices.Concat(long, end)} {
				got, err := readFrames(data, all[i].Next, nil)
				if err != nil || !slices.Equal(got, lines[i+1:]) {
					t.Errorf("%s, %s, after line %d: got %.80q and %v, want %.80q", name, rest, i+1, got, err, lines[i+1:])
				}
			}
		}
	}
}

// Reading the output of a progress bar with carriage returns continues after each update, also when
// the start of the log is gone. A carriage return followed by a newline is one end.
func TestProgressBarResumesFromAnyLine(t *testing.T) {
	t.Parallel()
	bar := slices.Concat(
		piece(1, 101, "a\r\n"), piece(1, 102, "\r10%\r20"), piece(2, 103, "b\n"), piece(1, 102, "%\r30%\r"), piece(1, 102, "\n"),
		piece(1, 104, "c\r\n"), piece(1, 105, "d\n"),
	)
	whole := slices.Concat(piece(1, 100, "gone\n"), bar)
	var all []container.Line
	lines, err := readFrames(whole, container.Position{}, &all)
	want := []string{"1 stdout gone", "2 stdout a", "3 stdout 10%", "4 stderr b", "5 stdout 20%", "6 stdout 30%", "7 stdout c", "8 stdout d"}
	if err != nil || !slices.Equal(lines, want) {
		t.Fatalf("got %q, %v, want %q", lines, err, want)
	}
	for i := 1; i < len(all); i++ {
		for rest, data := range map[string][]byte{"whole": whole, "rotated": bar} {
			if got, err := readFrames(data, all[i].Next, nil); err != nil || !slices.Equal(got, want[i+1:]) {
				t.Errorf("%s, after line %d: got %q and %v, want %q", rest, i+1, got, err, want[i+1:])
			}
		}
	}
}

// Lines counted by an agent that treated carriage returns as text are counted the same way by its
// successor.
func TestLogKeepsInitialCounting(t *testing.T) {
	t.Parallel()
	data := slices.Concat(piece(1, 100, "1%\r2%\r3%\n"), piece(1, 101, "4%\r5%\n"), piece(1, 102, "6%\r7%\n"))
	for _, from := range []container.Position{{Lines: 1}, {Lines: 1, Stdout: second(100), Stderr: second(100)}} {
		var all []container.Line
		got, err := readFrames(data, from, &all)
		if want := []string{"2 stdout 4%\r5%", "3 stdout 6%\r7%"}; err != nil || !slices.Equal(got, want) {
			t.Fatalf("got %q, %v, want %q", got, err, want)
		}
		got, err = readFrames(data, all[0].Next, nil)
		if want := []string{"3 stdout 6%\r7%"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("and then: got %q, %v, want %q", got, err, want)
		}
	}
}
