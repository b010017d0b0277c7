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
			text, _, ok := s.Next(len(data) == 0)
			if !ok {
				break
			}
			out = append(out, bytes.Clone(text))
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

func TestSplitterDoesNotCareHowBytesArrive(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var data []byte
		for range rapid.IntRange(0, 6).Draw(t, "lines") {
			n := rapid.OneOf(rapid.IntRange(0, 20), rapid.IntRange(MaxLine-2, MaxLine+2), rapid.Just(2*MaxLine)).Draw(t, "length")
			data = append(data, bytes.Repeat([]byte{'x'}, n)...)
			data = append(data, '\n')
		}
		if rapid.Bool().Draw(t, "ends without newline") && len(data) > 0 {
			data = data[:len(data)-1]
		}
		want := cut(data, all)
		got := cut(data, func(left int) int { return rapid.IntRange(1, left).Draw(t, "portion") })
		if d := cmp.Diff(len(want), len(got)); d != "" {
			t.Fatalf("number of lines differs:\n%s", d)
		}
		for i := range want {
			if !bytes.Equal(want[i], got[i]) {
				t.Fatalf("line %d: got %d bytes, want %d", i, len(got[i]), len(want[i]))
			}
		}
	})
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
