// Package readme_test types the lines of README.md in their order on a machine of its own: a network and
// directories that no other program uses.
package readme_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/test/clustertest"
	"github.com/det-deploy/det-deploy/test/installed"
)

func TestMain(m *testing.M) { os.Exit(clustertest.Tests{M: m}.Run()) } //nolint:forbidigo // the end of the program

// lastSection is the first section whose lines need a cloud or a cluster of Kubernetes. Those of it and of the
// sections behind it are checked for commands and flags that exist, by the tests of the commands.
const lastSection = "## A cluster on AWS"

func TestReadmeWorksLineByLine(t *testing.T) {
	t.Parallel()
	det := installed.Environment(t, "the det client", "det", "det")
	harness := installed.Environment(t, "the harness", "harness", "python")
	if os.Geteuid() != 0 {
		t.Skip("namespaces of its own need root")
	}
	if _, err := exec.LookPath("runc"); err != nil {
		t.Skip("runc: not installed; run: make setup")
	}
	w := world{t: t, dir: t.TempDir()}
	w.furnish()
	script := w.path("type.sh")
	w.write(script, typed(t, det, harness))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "bash", "-eu", script)
	cmd.Dir = w.dir
	cmd.Env = append(os.Environ(), "HOME="+w.path("home"), "DOCKER_HOST=unix:///nonexistent",
		"XDG_CONFIG_HOME=", "XDG_STATE_HOME=", "XDG_DATA_HOME=", "DET_MASTER=", "NO_COLOR=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("got %v, want every line of README.md to succeed\n%s", err, out)
	}
	t.Logf("%s", out)
	for _, want := range []string{"hello", "elastic"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
}

// world is the directory in which the lines are typed.
type world struct {
	t   *testing.T
	dir string
}

func (w world) path(name string) string { return filepath.Join(w.dir, name) }

func (w world) write(path, text string) {
	w.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// furnish makes the directory look like a clone in which `make build` has run.
func (w world) furnish() {
	w.t.Helper()
	bin, err := clustertest.Program()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, dir := range []string{"bin", "home"} {
		if err := os.Mkdir(w.path(dir), 0o755); err != nil {
			w.t.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		"bin/det-deploy": bin, "Makefile": installed.InProject("Makefile"), "docs": installed.InProject("docs"),
	} {
		if err := os.Symlink(target, w.path(name)); err != nil {
			w.t.Fatal(err)
		}
	}
}

// typed returns a script with the lines of README.md. Three things differ from a person's machine: the
// program is built already, the Python packages come from the environments of make setup, and the password
// of `det user login` is typed by the script.
func typed(t *testing.T, det, harness string) string {
	t.Helper()
	page, err := os.ReadFile(installed.InProject("README.md"))
	if err != nil {
		t.Fatal(err)
	}
	ours, _, found := strings.Cut(string(page), lastSection)
	if !found {
		t.Fatalf("README.md has no section %q", lastSection)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "ip link set lo up\nmount -t tmpfs none /opt\nmkdir /opt/determined\nmount --bind %q /opt/determined\nln -s %q ~/det\n", harness, det)
	b.WriteString("trap 'bin/det-deploy local down --yes >/dev/null' EXIT\nset -x\n")
	fenced := false
	for line := range strings.Lines(ours) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```"):
			fenced = !fenced
		case fenced:
			b.WriteString(adapted(line) + "\n")
		}
	}
	return b.String()
}

// adapted returns the line as the script types it.
func adapted(line string) string {
	switch {
	case strings.HasPrefix(line, "make test"), strings.Contains(line, "pip install"):
		return ":"
	case strings.HasPrefix(line, "make "):
		return "make -o build " + strings.TrimPrefix(line, "make ")
	case strings.HasPrefix(line, "det user login"):
		return `bin/det-deploy local credentials --output json | python3 -c 'import json, sys; print(json.load(sys.stdin)["password"])' | ` + line
	case strings.HasPrefix(line, "bin/det-deploy local down"):
		return strings.Replace(line, "local down", "local down --yes", 1)
	case strings.HasPrefix(line, "bin/det-deploy local up"):
		return strings.Replace(strings.Replace(line, " --yes", "", 1), "local up", "local up --yes", 1)
	}
	return line
}
