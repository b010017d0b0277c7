package main

import (
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"det-deploy": main})
}

// TestScripts runs the program as its users do, one script a subject.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"eventually": eventually, "capture": capture},
		Setup: func(env *testscript.Env) error {
			env.Setenv("XDG_CONFIG_HOME", env.WorkDir+"/config")
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("NO_COLOR", "1")
			examples, err := filepath.Abs("../../examples")
			if err != nil {
				return err
			}
			env.Setenv("EXAMPLES", examples)
			port, err := freePort(t)
			env.Setenv("PORT", port)
			return err
		},
	})
}

// freePort is a port that nobody listens on. A script's master takes it a moment
// later: port 0 would leave the script without a way to learn the number.
func freePort(t *testing.T) (string, error) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	port := l.Addr().(*net.TCPAddr).Port
	return strconv.Itoa(port), l.Close()
}

// capture puts what the last program printed, without its last newline, into a
// variable:
//
//	capture NAME
func capture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: capture NAME")
	}
	ts.Setenv(args[0], strings.TrimSuffix(ts.ReadFile("stdout"), "\n"))
}

// eventually runs a program until it succeeds and prints what was asked for:
//
//	eventually 'pattern' program arguments…
func eventually(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: eventually text program arguments…")
	}
	deadline := time.Now().Add(20 * time.Second)
	for {
		err := ts.Exec(args[1], args[2:]...)
		seen := ts.ReadFile("stdout") + ts.ReadFile("stderr")
		if err == nil && strings.Contains(seen, args[0]) {
			return
		}
		if _, found := err.(*exec.Error); found || time.Now().After(deadline) { //nolint:errorlint // ts.Exec returns it itself
			ts.Fatalf("%v never printed %q; the last time: %v\n%s", args[1:], args[0], err, seen)
		}
		<-time.After(50 * time.Millisecond)
	}
}
