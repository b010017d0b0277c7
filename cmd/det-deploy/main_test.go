package main

import (
	"net"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/det-deploy/det-deploy/installer/target/local/supervise"
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
		Setup: func(env *testscript.Env) error {
			env.Setenv("XDG_CONFIG_HOME", env.WorkDir+"/config")
			env.Setenv("NO_COLOR", "1")
			return ownCluster(t, env)
		},
	})
}

// ownCluster gives a script a place and a port for a local cluster of its own,
// and stops what it leaves running.
func ownCluster(t *testing.T, env *testscript.Env) error {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return err
	}
	state := filepath.Join(env.WorkDir, "state")
	env.Setenv("PORT", port)
	env.Setenv("XDG_STATE_HOME", state)
	env.Setenv("DOCKER_HOST", "unix:///nonexistent.sock")
	env.Defer(func() {
		if id, ok := supervise.Dir(filepath.Join(state, "det-deploy", "local")).Holder(); ok {
			_ = id.Signal(syscall.SIGTERM) // it takes the others along
		}
	})
	return l.Close()
}
