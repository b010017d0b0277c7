package main

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestReport(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		code     int
		want     []string
	}{
		{
			name: "skipped tests are counted by their reason",
			in: `{"Action":"pass","Package":"p","Test":"A"}
{"Action":"output","Package":"p","Test":"B","Output":"    b_test.go:7: no PostgreSQL here\n"}
{"Action":"skip","Package":"p","Test":"B"}
{"Action":"output","Package":"p","Test":"C","Output":"    c_test.go:9: no PostgreSQL here\n"}
{"Action":"skip","Package":"p","Test":"C"}
{"Action":"pass","Package":"p","Elapsed":1}`,
			want: []string{"ok      1.0s p\n", "skipped 2: no PostgreSQL here", "1 passed, 0 failed, 2 skipped"},
		},
		{
			name: "a failure prints the test's output, and its own lines again at the end",
			in: `{"Action":"output","Package":"p","Test":"A/b","Output":"    a_test.go:3: got 1, want 2\n"}
{"Action":"fail","Package":"p","Test":"A/b"}
{"Action":"fail","Package":"p","Test":"A"}
{"Action":"output","Package":"p","Output":"FAIL\n"}
{"Action":"fail","Package":"p"}`,
			code: 1,
			want: []string{"failed: p A/b\n    a_test.go:3: got 1, want 2\nfailed: p A\n0 passed, 2 failed, 0 skipped"},
		},
		{
			name: "a data race fails the run whichever test printed it",
			in: `{"Action":"output","Package":"p","Test":"B","Output":"WARNING: DATA RACE\n"}
{"Action":"pass","Package":"p","Test":"B"}
{"Action":"pass","Package":"p"}`,
			code: 1,
		},
		{
			name: "a package that ended within a test prints that test's output",
			in: `{"Action":"pass","Package":"p","Test":"A"}
{"Action":"run","Package":"p","Test":"B"}
{"Action":"output","Package":"p","Test":"B","Output":"panic: test timed out after 35m0s\n"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t2100s\n"}
{"Action":"fail","Package":"p"}`,
			code: 1,
			want: []string{"p B did not end\npanic: test timed out", "FAIL\tp"},
		},
		{
			name: "a run that was cut off fails",
			in: `{"Action":"pass","Package":"p","Test":"A"}
{"Action":"run","Package":"q","Test":"B"}`,
			code: 1,
			want: []string{"cut off"},
		},
		{
			name: "a package that does not build fails the run",
			in: `{"Action":"pass","Package":"q","Test":"A"}
{"Action":"fail","Package":"r"}`,
			code: 1,
		},
		{
			name: "the slowest are listed first, subtests are not",
			in: `{"Action":"pass","Package":"p","Test":"Quick","Elapsed":1}
{"Action":"pass","Package":"p","Test":"Slow/part","Elapsed":8}
{"Action":"pass","Package":"p","Test":"Slow","Elapsed":9}
{"Action":"pass","Package":"p","Elapsed":10}`,
			want: []string{"slowest packages:\n     10.0s p\nslowest tests:\n      9.0s p Slow\n      1.0s p Quick\n3 passed"},
		},
		{
			name: "no test ran",
			in:   `{"Action":"pass","Package":"p","Elapsed":1}`,
			code: 1,
			want: []string{"0 passed, 0 failed"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			if code := newReport(&out).run(lines(strings.NewReader(tt.in)), nil); code != tt.code {
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

func TestQuietRunListsRunningTests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		in, ticker := make(chan line), time.NewTicker(time.Second)
		defer ticker.Stop()
		ended := make(chan int)
		go func() { ended <- newReport(&out).run(in, ticker.C) }()
		in <- line{text: []byte(`{"Action":"start","Package":"p"}`)}
		<-time.After(quiet + quiet/2) // of the bubble
		close(in)
		<-ended
		if got := strings.Count(out.String(), "running: p (30s)"); got != 1 {
			t.Errorf("got %d lines about what runs, want 1, in:\n%s", got, out.String())
		}
	})
}
