package main

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	motest "github.com/det-deploy/det-deploy/test/moto"
)

// TestAWSScripts runs the program with an emulated AWS, each script in a separate account. Machines
// do not boot there, so the scripts do not wait for the cluster.
func TestAWSScripts(t *testing.T) {
	t.Parallel()
	_ = motest.Open(t) // skips if moto is missing
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/aws",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"eventually": eventually, "capture": capture, "terminal": questions, "draw": draw, "lose": lose, "interrupt": interrupt,
			"occupy": func(ts *testscript.TestScript, neg bool, _ []string) { occupy(t.Context(), ts, neg) },
		},
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

// lose deletes an object from a bucket without the knowledge of the program.
func lose(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: lose bucket key")
	}
	req, err := http.NewRequest(http.MethodDelete, ts.Getenv("AWS_ENDPOINT_URL")+"/"+args[0]+"/"+args[1], nil)
	ts.Check(err)
	// The emulator reads the account from this header without a check.
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+ts.Getenv("AWS_ACCESS_KEY_ID")+"/20260101/us-west-2/s3/aws4_request, SignedHeaders=host, Signature=none")
	resp, err := http.DefaultClient.Do(req)
	ts.Check(err)
	_ = resp.Body.Close() // it has no body
	if resp.StatusCode != http.StatusNoContent {
		ts.Fatalf("lose %s: %s", args[1], resp.Status)
	}
}
