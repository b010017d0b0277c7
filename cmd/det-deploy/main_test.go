package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/det-deploy/det-deploy/test/clustertest"
	"github.com/det-deploy/det-deploy/test/port"
)

func TestMain(m *testing.M) {
	testscript.Main(clustertest.Tests{M: m}, map[string]func(){"det-deploy": main})
}

// TestScripts runs the program as users do, one script for each subject.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"eventually": eventually, "capture": capture, "terminal": questions, "draw": draw, "registry": images, "image": imageFile, "post": post},
		Setup: func(env *testscript.Env) error {
			env.Setenv("XDG_CONFIG_HOME", env.WorkDir+"/config")
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("NO_COLOR", "1")
			env.Setenv("GORACE", os.Getenv("GORACE"))
			examples, err := filepath.Abs("../../docs/examples")
			if err != nil {
				return err
			}
			env.Setenv("EXAMPLES", examples)
			for _, name := range []string{"PORT", "PORT2"} {
				free, err := port.Find(t)
				if err != nil {
					return err
				}
				env.Setenv(name, strconv.Itoa(free))
			}
			return unwatched(env)
		},
	})
}

// watched is the script whose program has the race detector if the test has it.
const watched = "script-cluster"

// unwatched runs a script with the released program, without the race detector: it starts ten times
// as fast, and scripts start it repeatedly.
func unwatched(env *testscript.Env) error {
	if testing.Short() || filepath.Base(env.WorkDir) == watched {
		return nil
	}
	bin, err := binary()
	if err != nil {
		return err
	}
	env.Setenv("PATH", filepath.Dir(bin)+string(filepath.ListSeparator)+env.Getenv("PATH"))
	return nil
}

// capture sets a variable to the output of the last program, without its last newline:
//
//	capture NAME
func capture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: capture NAME")
	}
	ts.Setenv(args[0], strings.TrimSuffix(ts.ReadFile("stdout"), "\n"))
}

// eventually runs a program until it succeeds and its output matches a pattern:
//
//	eventually 'pattern' program arguments…
func eventually(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: eventually text program arguments…")
	}
	deadline := time.Now().Add(2 * time.Minute)
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
