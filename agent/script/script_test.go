package script_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/agent/script"
)

func TestScriptRunsInItsInterpreter(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"a shell where nothing is said": {"echo out; echo err >&2; echo $MINE", "out\nerr\nmine\n"},
		"what the first line says":      {"#!/bin/cat\nhello\n", "#!/bin/cat\nhello\n"},
		"its arguments too":             {"#!/bin/sh -e\nfalse || echo went on\n", "went on\n"},
	} {
		s := script.Script{Name: "startup_script", Text: []byte(c.text), File: filepath.Join(t.TempDir(), "s"), Env: []string{"MINE=mine"}}
		if err := script.Run(t.Context(), s); err != nil {
			t.Errorf("%s: got %v, want none", name, err)
		}
		if got, err := os.ReadFile(s.Output()); err != nil || string(got) != c.want {
			t.Errorf("%s: got %q and %v, want %q", name, got, err, c.want)
		}
		if info, err := os.Stat(s.Output()); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: got %v and %v, want the output for this user alone", name, info.Mode(), err)
		}
	}
}

func TestFailedScriptReportsLastLines(t *testing.T) {
	t.Parallel()
	s := script.Script{
		Name: "startup_script", File: filepath.Join(t.TempDir(), "s"),
		Text: []byte("i=0; while [ $i -lt 100 ]; do i=$((i+1)); echo line $i; done; exit 7"),
	}
	err := script.Run(t.Context(), s)
	if err == nil || !strings.Contains(err.Error(), "run startup_script: exit status 7; its last lines:\nline 81\n") ||
		!strings.HasSuffix(err.Error(), "line 100") {
		t.Errorf("got %v, want the code and the last twenty lines", err)
	}
}

func TestTheOutputOfAScriptIsBounded(t *testing.T) {
	t.Parallel()
	const most = 64 << 20
	s := script.Script{
		Name: "startup_script", File: filepath.Join(t.TempDir(), "s"),
		// The background process continues after the script has exited.
		Text: []byte("yes 'so much' | head -c 150000000; sleep 1; (until [ -e $0.go ]; do sleep 0.1; done; yes 'and more' | head -c 150000000; sleep 1; echo; echo the end) & echo the last line; exit 7"),
	}
	err := script.Run(t.Context(), s)
	if err == nil || !strings.HasSuffix(err.Error(), "\nthe last line") {
		t.Errorf("got %.200v, want the last line", err)
	}
	size := func() int64 {
		info, err := os.Stat(s.Output())
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	if got := size(); got > most {
		t.Errorf("got %d bytes, want at most %d", got, most)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); script.Bound(ctx, s) }()
	if err := os.WriteFile(s.File+".go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var text []byte
	for end := time.Now().Add(time.Minute); time.Now().Before(end); <-time.After(100 * time.Millisecond) {
		if text, err = os.ReadFile(s.Output()); err != nil || strings.HasSuffix(string(text), "the end\n") && len(text) <= most {
			break
		}
	}
	cancel()
	<-done
	if err != nil || len(text) > most || !strings.HasSuffix(string(text), "the end\n") {
		t.Errorf("got %d bytes and %v, want at most %d, and the end", len(text), err, most)
	}
	if !strings.Contains(string(text), "bytes of output were dropped here)\n") || strings.Contains(string(text), "\x00") {
		t.Error("got a hole, want a line that says so")
	}
}

func TestBackgroundProcessesOfScriptAreNotAwaited(t *testing.T) {
	t.Parallel()
	s := script.Script{Name: "s", Text: []byte("sleep 5 & echo started"), File: filepath.Join(t.TempDir(), "s")}
	began := time.Now()
	if err := script.Run(t.Context(), s); err != nil || time.Since(began) > 4*time.Second {
		t.Errorf("got %v after %v, want none and at once", err, time.Since(began))
	}
}

func TestScriptEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	s := script.Script{Name: "s", Text: []byte("sleep 100; echo not reached"), File: filepath.Join(t.TempDir(), "s")}
	began := time.Now()
	if err := script.Run(ctx, s); err == nil || time.Since(began) > 10*time.Second {
		t.Errorf("got %v after %v, want it killed at once", err, time.Since(began))
	}
}
