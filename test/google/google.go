// Package googletest gives tests the clients and emulators of Google Cloud that det-deploy
// did not write: gcloud, Google's libraries for Python, and fake-gcs-server. Only tests may
// import it.
package googletest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/cloud/gcp/gcptest"
)

// Site is a Google in memory that answers over loopback.
type Site struct {
	URL string
	// Token is one that its owner shows.
	Token string
}

// Serve lets a world answer over loopback until the test ends. Its clients are not ours:
// they may send queries that the pinned documents lack.
func Serve(t testing.TB, w *gcptest.World) Site {
	t.Helper()
	w.Tune(func(o *gcptest.Options) { o.Foreign = true })
	s := httptest.NewServer(w)
	t.Cleanup(s.Close)
	return Site{URL: s.URL, Token: w.Token(gcptest.Caller{})}
}

// requirePython skips a test, or fails it under CI=true, where Google's libraries are missing.
func requirePython(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("runs Google's libraries for Python; run without -short")
	}
	if _, err := os.Stat(filepath.Join(findRoot(), ".cache", "google", "no-index")); err == nil {
		t.Skip("no Python index answered when Google's libraries were to be installed")
	}
	requireFile(t, "Google's libraries for Python", pythonPath())
}

// requireFile skips a test, or fails it under CI=true, where what make setup installs is missing.
func requireFile(t testing.TB, what, path string) {
	t.Helper()
	if _, err := os.Stat(path); err == nil {
		return
	}
	install := fmt.Sprintf("%s: not installed; run: make setup", what)
	if os.Getenv("CI") == "true" {
		t.Fatal(install)
	}
	t.Skip(install)
}

// findRoot is the top of the source tree, in which every test runs.
func findRoot() string {
	dir, err := os.Getwd()
	for err == nil && dir != "/" {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		dir = filepath.Dir(dir)
	}
	return "."
}

func pythonPath() string { return filepath.Join(findRoot(), ".cache", "google", "bin", "python") }

// program is a script of this package that Google's libraries run.
type program struct {
	script string
	args   []string
	env    []string
	input  any // sent as JSON
}

// runScript decodes what a script prints into out.
func (p program) runScript(t testing.TB, out any) {
	t.Helper()
	requirePython(t)
	cmd := exec.CommandContext(t.Context(), pythonPath(), append([]string{filepath.Join(findRoot(), "test", "google", "clients", p.script)}, p.args...)...)
	cmd.Env = append(os.Environ(), append(p.env, "PYTHONDONTWRITEBYTECODE=1", "NO_PROXY=127.0.0.1")...)
	runCommand(t, cmd, p.input, out)
}

// runCommand runs a command that is to succeed, and decodes what it prints.
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
