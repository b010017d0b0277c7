// Package readme_test types the lines of README.md and of the page of first steps in their order, each on a machine of
// its own: with and without Docker, as root and as an ordinary user.
package readme_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/test/clustertest"
	"github.com/det-deploy/det-deploy/test/installed"
	"github.com/det-deploy/det-deploy/test/rest"
)

func TestMain(m *testing.M) { os.Exit(clustertest.Tests{M: m}.Run()) } //nolint:forbidigo // the end of the program

func TestPagesWorkLineByLine(t *testing.T) {
	t.Parallel()
	readme := page{
		file: "README.md",
		// The lines below need a cloud or a cluster of Kubernetes. The tests of the commands check that their commands and
		// flags exist.
		end:  "## A cluster on AWS",
		want: []string{"\nhello\n", "Experiment 1: succeeded", "on-demand"},
	}
	steps := page{
		file: "docs/first-steps.md",
		want: []string{"\nhello\n", "Python 3", "Experiment 1: succeeded", "Experiment 2: succeeded", "line-asha"},
	}
	for name, tc := range map[string]struct {
		page         page
		who, runtime string
		rest         bool
	}{
		"README as root":                    {readme, "root", "process", false},
		"README as a user":                  {readme, "user", "process", true},
		"README as root with Docker":        {readme, "root", "docker", true},
		"README as a user with Docker":      {readme, "user", "docker", false},
		"first steps as root":               {steps, "root", "process", false},
		"first steps as a user with Docker": {steps, "user", "docker", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.rest {
				rest.Only(t)
			}
			out := typeLines(t, tc.page.lines(t, tc.runtime), tc.who, tc.runtime)
			for _, want := range tc.page.want {
				if !strings.Contains(out, want) {
					t.Errorf("the output lacks %q:\n%s", want, out)
				}
			}
		})
	}
}

// mounts are settings with which containers of the test's image find the Python of this machine.
const mounts = `  environment_variables: ["PATH=/opt/determined/bin:/usr/bin:/bin"]
  bind_mounts:
    - {host_path: /opt/determined, container_path: /opt/determined, read_only: true}
    - {host_path: /usr, container_path: /usr, read_only: true}
    - {host_path: /lib, container_path: /lib, read_only: true}
    - {host_path: /lib64, container_path: /lib64, read_only: true}
`

// typeLines types lines as a user on a machine with a runtime, and returns the output.
func typeLines(t *testing.T, lines, who, runtime string) string {
	t.Helper()
	need := []string{"runc", "unshare", "setpriv", "make"}
	if runtime == "docker" {
		need = []string{"dockerd", "docker", "busybox", "unshare", "setpriv", "make"}
	}
	for _, program := range need {
		installed.Program(t, program)
	}
	harness := installed.Environment(t, "the harness", "harness", "python3")
	if os.Geteuid() != 0 {
		t.Skip("namespaces of its own need root")
	}
	program, err := clustertest.Program()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"lines": lines, "mounts.yaml": mounts} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil { //nolint:gosec // a user reads it
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
		installed.InProject("test", "readme", "machine.sh"), dir, who, runtime)
	cmd.Env = append(os.Environ(), "HARNESS="+harness, "PROGRAM="+program, "PROJECT="+installed.InProject())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("got %v, want every line to succeed\n%s", err, out)
	}
	return string(out)
}
