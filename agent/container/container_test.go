package container

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// cut splits data that arrives in the given portions.
func cut(data []byte, portions func(left int) int) [][]byte {
	var s Splitter
	var out [][]byte
	for {
		n := 0
		if len(data) > 0 {
			n = portions(len(data))
		}
		s.Write(data[:n])
		data = data[n:]
		for {
			c, ok := s.Next(len(data) == 0)
			if !ok {
				break
			}
			out = append(out, bytes.Clone(c.Text))
		}
		if len(data) == 0 {
			return out
		}
	}
}

func all(left int) int { return left }

func TestSplitter(t *testing.T) {
	t.Parallel()
	full := strings.Repeat("x", MaxLine)
	for _, tc := range []struct {
		name, data string
		want       []string
	}{
		{name: "nothing is no line"},
		{name: "an empty line is a line", data: "\n", want: []string{""}},
		{name: "the last line needs no newline", data: "a\nb", want: []string{"a", "b"}},
		{name: "a line of the limit is whole", data: full + "\n", want: []string{full}},
		{name: "a longer one is cut", data: full + "yz\n", want: []string{full, "yz"}},
		{name: "the limit without a newline is whole", data: full, want: []string{full}},
		{name: "a longer one is cut between characters", data: full[1:] + "üz\n", want: []string{full[1:], "üz"}},
		{name: "what is no text is cut at the limit", data: strings.Repeat("\x80", MaxLine+1), want: []string{strings.Repeat("\x80", MaxLine), "\x80"}},
		{name: "a progress bar is a line each time", data: "\r10%\r20%\r100%\n", want: []string{"10%", "20%", "100%"}},
		{name: "both ends are one", data: "a\r\n\r\nb\r\n", want: []string{"a", "", "b"}},
		{name: "returns over nothing are no lines", data: "\r\r\ra\r\rb\r", want: []string{"a", "b"}},
		{name: "a line of the limit ends in a return", data: full + "\r" + full + "\r\n", want: []string{full, full}},
		{name: "what is cut at the limit ends in a return", data: full + "y\r\nz", want: []string{full, "y", "z"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, l := range cut([]byte(tc.data), all) {
				got = append(got, string(l))
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("lines differ (-want +got):\n%s", d)
			}
		})
	}
}

func TestSplitterMarksPartialLines(t *testing.T) {
	t.Parallel()
	var s Splitter
	s.Write([]byte(strings.Repeat("x", MaxLine) + "y\n10%\r\nend"))
	var got []string
	for c, ok := s.Next(true); ok; c, ok = s.Next(true) {
		got = append(got, fmt.Sprint(len(c.Text), c.Partial))
	}
	if d := cmp.Diff([]string{fmt.Sprint(MaxLine, true), "1 false", "3 false", "3 true"}, got); d != "" {
		t.Errorf("parts differ (-want +got):\n%s", d)
	}
}

func TestSplitterIsIndependentOfChunks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		data := drawOutput(t)
		want := cut(data, all)
		got := cut(data, func(left int) int { return rapid.IntRange(1, left).Draw(t, "portion") })
		compareLines(t, got, want)
	})
}

// A reader that starts after any line gets the following lines, if it knows whether the byte before
// was a carriage return.
func TestReadingResumesAfterAnyLine(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		data := drawOutput(t)
		want := cut(data, all)
		var s Splitter
		at, n := 0, 0
		for n < len(want) {
			next := min(at+len(s.buf)+s.passed+rapid.IntRange(1, 40).Draw(t, "portion"), len(data))
			s.Write(data[at+len(s.buf)+s.passed : next])
			c, ok := s.Next(next == len(data))
			if !ok {
				continue
			}
			if !bytes.Equal(c.Text, want[n]) {
				t.Fatalf("line %d: got %d bytes, want %d", n, len(c.Text), len(want[n]))
			}
			at, n = at+c.Size, n+1
			s = Splitter{AfterReturn: data[at-1] == '\r'}
		}
	})
}

// drawOutput generates the output of a program.
func drawOutput(t *rapid.T) []byte {
	var data []byte
	for range rapid.IntRange(0, 6).Draw(t, "lines") {
		n := rapid.OneOf(rapid.IntRange(0, 20), rapid.IntRange(MaxLine-2, MaxLine+2), rapid.Just(2*MaxLine)).Draw(t, "length")
		data = append(data, bytes.Repeat([]byte{'x'}, n)...)
		data = append(data, rapid.SampledFrom([]string{"\n", "\r", "\r\n", "\r\r", "\n\r"}).Draw(t, "end")...)
	}
	if rapid.Bool().Draw(t, "ends without newline") && len(data) > 0 {
		data = data[:len(data)-1]
	}
	return data
}

func compareLines(t *rapid.T, got, want [][]byte) {
	if len(want) != len(got) {
		t.Fatalf("got %d lines, want %d", len(got), len(want))
	}
	for i := range want {
		if !bytes.Equal(want[i], got[i]) {
			t.Fatalf("line %d: got %d bytes, want %d", i, len(got[i]), len(want[i]))
		}
	}
}

// BenchmarkSplitter splits lines of about 90 bytes, and updates of a progress bar.
func BenchmarkSplitter(b *testing.B) {
	line := strings.Repeat("x", 89)
	for name, end := range map[string]string{"lines": "\n", "progress": "\r"} {
		data := []byte(strings.Repeat(line+end, 256<<10/90))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				var s Splitter
				s.Write(data)
				for {
					if _, ok := s.Next(false); !ok {
						break
					}
				}
			}
		})
	}
}

func TestAuthIsNeverPrinted(t *testing.T) {
	t.Parallel()
	s := Spec{Auth: Auth{Password: "hunter2"}}
	for _, f := range []string{"%v", "%+v", "%#v", "%s"} {
		if out := fmt.Sprintf(f, s); strings.Contains(out, "hunter2") {
			t.Errorf("%s prints the password: %s", f, out)
		}
	}
}

func TestSpecValidate(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		spec Spec
		want string
	}{
		{name: "a plain spec", spec: Spec{ID: "c", Env: []string{"A="}, Files: []File{{Path: "/a"}}}},
		{name: "an id with a slash", spec: Spec{ID: "../c"}, want: "plain name"},
		{name: "a relative file", spec: Spec{ID: "c", Files: []File{{Path: "a"}}}, want: "absolute"},
		{name: "a relative mount", spec: Spec{ID: "c", Mounts: []Mount{{HostPath: "a", ContainerPath: "/b"}}}, want: "absolute"},
		{name: "a relative work_dir", spec: Spec{ID: "c", WorkDir: "w"}, want: "absolute"},
		{name: "an environment without a value", spec: Spec{ID: "c", Env: []string{"A"}}, want: "NAME=value"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			err := tc.spec.Validate()
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}
