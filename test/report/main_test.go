package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		code     int
		want     []string
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
			name: "a failure shows what the test said",
			in: `{"Action":"output","Package":"p","Test":"A","Output":"got 1, want 2\n"}
{"Action":"fail","Package":"p","Test":"A"}`,
			code: 1,
			want: []string{"got 1, want 2", "0 passed, 1 failed, 0 skipped"},
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
			if code := report(strings.NewReader(tt.in), &out); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			for _, w := range tt.want {
				if !strings.Contains(out.String(), w) {
					t.Errorf("got %q, want it to contain %q", out.String(), w)
				}
			}
		})
	}
}
