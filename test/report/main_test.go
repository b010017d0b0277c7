package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in, again string
		code            int
		want            []string
	}{
		{
			name: "a pass and a skip with its sentence",
			in: `{"Action":"pass","Package":"p","Test":"A"}
{"Action":"output","Package":"p","Test":"B","Output":"    b_test.go:7: no PostgreSQL here\n"}
{"Action":"skip","Package":"p","Test":"B"}
{"Action":"pass","Package":"p","Elapsed":1}`,
			want: []string{"skipped B: no PostgreSQL here", "1 passed, 0 failed, 1 skipped"},
		},
		{
			name: "a failure shows what the test said, at the end in short",
			in: `{"Action":"output","Package":"p","Test":"A/b","Output":"    a_test.go:3: got 1, want 2\n"}
{"Action":"fail","Package":"p","Test":"A/b"}
{"Action":"fail","Package":"p","Test":"A"}
{"Action":"fail","Package":"p","Test":"C"}
{"Action":"output","Package":"p","Output":"FAIL\n"}
{"Action":"fail","Package":"p"}`,
			code:  1,
			again: "p ^(A|C)$\n",
			want:  []string{"failed: p A C\n    A/b: a_test.go:3: got 1, want 2\n0 passed, 3 failed, 0 skipped"},
		},
		{
			name: "a data race is not run again, whoever's output it stands in",
			in: `{"Action":"output","Package":"p","Test":"B","Output":"WARNING: DATA RACE\n"}
{"Action":"pass","Package":"p","Test":"B"}
{"Action":"fail","Package":"p","Test":"A"}
{"Action":"fail","Package":"p"}`,
			code: 1,
		},
		{
			name: "a package that died in a test is not run again, and shows what that test said",
			in: `{"Action":"fail","Package":"p","Test":"A"}
{"Action":"run","Package":"p","Test":"B"}
{"Action":"output","Package":"p","Test":"B","Output":"panic: test timed out after 35m0s\n"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t2100s\n"}
{"Action":"fail","Package":"p"}`,
			code: 1,
			want: []string{"p B did not end\npanic: test timed out", "FAIL\tp"},
		},
		{
			name: "a run that was cut off is not run again",
			in: `{"Action":"fail","Package":"p","Test":"A"}
{"Action":"fail","Package":"p"}
{"Action":"run","Package":"q","Test":"B"}`,
			code: 1,
			want: []string{"cut off"},
		},
		{
			name: "a package that does not build is a failure",
			in: `{"Action":"pass","Package":"q","Test":"A"}
{"Action":"fail","Package":"p","Test":"A"}
{"Action":"fail","Package":"p"}
{"Action":"fail","Package":"r"}`,
			code: 1,
		},
		{
			name: "many failures are not run again",
			in:   manyFailures("ABCDEFG"),
			code: 1,
		},
		{
			name: "nothing ran",
			in:   `{"Action":"pass","Package":"p","Elapsed":1}`,
			code: 1,
			want: []string{"0 passed, 0 failed"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			r := newReport()
			if code := r.read(strings.NewReader(tt.in), &out); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			if got := r.again(); got != tt.again {
				t.Errorf("got %q to run again, want %q", got, tt.again)
			}
			for _, w := range tt.want {
				if !strings.Contains(out.String(), w) {
					t.Errorf("got %q, want it to contain %q", out.String(), w)
				}
			}
		})
	}
}

func manyFailures(tests string) string {
	var b strings.Builder
	for _, name := range tests {
		b.WriteString(`{"Action":"fail","Package":"p","Test":"` + string(name) + "\"}\n")
	}
	return b.String()
}
