// Package googletest runs third-party clients and emulators of Google Cloud in tests: gcloud,
// Google's Python libraries, and fake-gcs-server. Only tests may import it.
package googletest

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
	"github.com/det-deploy/det-deploy/test/installed"
)

// Site is a fake Google Cloud that is served over a loopback connection.
type Site struct {
	URL string
	// Token is an access token of its owner.
	Token string
}

// Serve serves a world over a loopback connection until the test ends. It accepts the query
// parameters of third-party clients that are missing in the pinned documents.
func Serve(t testing.TB, w *gcptest.World) Site {
	t.Helper()
	w.Tune(func(o *gcptest.Options) { o.Foreign = true })
	s := httptest.NewServer(w)
	t.Cleanup(s.Close)
	return Site{URL: s.URL, Token: w.Token(gcptest.Caller{})}
}

// requirePython skips a test if Google's libraries are missing, or fails it under CI=true.
func requirePython(t testing.TB) {
	t.Helper()
	installed.Environment(t, "Google's libraries", "google", "python")
}

func pythonPath() string { return installed.InProject(".cache", "google", "bin", "python") }

// program is a script of this package that uses Google's libraries.
type program struct {
	script string
	args   []string
	env    []string
	input  any // sent as JSON
}

// runScript runs the script and decodes its output into out.
func (p program) runScript(t testing.TB, out any) {
	t.Helper()
	requirePython(t)
	cmd := exec.CommandContext(t.Context(), pythonPath(), append([]string{installed.InProject("test", "google", "clients", p.script)}, p.args...)...)
	cmd.Env = append(os.Environ(), append(p.env, "PYTHONDONTWRITEBYTECODE=1", "NO_PROXY=127.0.0.1")...)
	runCommand(t, cmd, p.input, out)
}

// runCommand runs a command and decodes its output. It fails the test if the command fails.
func runCommand(t testing.TB, cmd *exec.Cmd, input, out any) {
	t.Helper()
	in, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), &said
	printed, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(printed, out)
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(cmd.Args, " "), err, said.Bytes(), printed)
	}
}
