package main

import (
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	motest "github.com/det-deploy/det-deploy/test/moto"
)

// TestAWSScripts runs the program against an emulated Amazon, each script in an
// account of its own. Machines there do not boot, so a cluster stands and is not
// waited for.
func TestAWSScripts(t *testing.T) {
	t.Parallel()
	_ = motest.Open(t) // or skips
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/aws",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"eventually": eventually, "capture": capture, "terminal": terminal},
		Setup: func(env *testscript.Env) error {
			env.Setenv("XDG_CONFIG_HOME", env.WorkDir+"/config")
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("NO_COLOR", "1")
			env.Setenv("GORACE", os.Getenv("GORACE"))
			account := motest.Open(t)
			for _, v := range account.Env() {
				name, value, _ := strings.Cut(v, "=")
				env.Setenv(name, value)
			}
			env.Setenv("IMAGE", motest.ImageAMD64)
			env.Setenv("ACCOUNT", account.ID)
			return unwatched(env)
		},
	})
}
