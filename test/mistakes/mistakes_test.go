// Package mistakes_test types what people type wrongly, and compares what they are answered.
package mistakes_test

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/test/clustertest"
	"github.com/det-deploy/det-deploy/test/golden"
)

func TestMain(m *testing.M) { os.Exit(clustertest.Tests{M: m}.Run()) } //nolint:forbidigo // the end of the program

func words(line string) []string { return strings.Fields(line) }

// unhelpful are words that a person cannot use: those of Go and of its libraries, and hints without content.
var unhelpful = regexp.MustCompile(`rpc error|dial tcp|unmarshal|strconv|EOF|invalid character|no such file|look at|error: error|\byaml: |(Get|Post) "|deadline exceeded|panic|%!|0x[0-9a-f]{6}|<nil>`)

// Every answer is in the golden file, whose diff shows a changed one.
func TestMistakesAreAnswered(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a cluster; run without -short")
	}
	p := newPerson(t)
	var b strings.Builder
	for _, m := range mistakes() {
		text, code := p.types(m)
		fmt.Fprintf(&b, "# %s\n$ det-deploy %s\n%sexit code %d\n\n", m.about, typed(m.args), text, code)
		switch {
		case m.fine != (code == 0):
			t.Errorf("%s: got exit code %d\n%s", m.about, code, text)
		case unhelpful.MatchString(text):
			t.Errorf("%s: %q helps nobody:\n%s", m.about, unhelpful.FindString(text), text)
		case !m.fine && !strings.Contains(text, "error: "):
			t.Errorf("%s: no error is printed:\n%s", m.about, text)
		case strings.Count(text, "\n") > 12:
			t.Errorf("%s: the answer is longer than half a screen:\n%s", m.about, text)
		}
	}
	golden.Compare(t, "testdata/mistakes.golden", b.String())
}

// person has a cluster and a directory with the files of testdata/files.
type person struct {
	t    *testing.T
	c    *clustertest.Cluster
	dir  string
	done string
}

func newPerson(t *testing.T) *person {
	t.Helper()
	c := clustertest.New(t, clustertest.Config{
		Master: "checkpoint_storage: {type: shared_fs, host_path: /srv/checkpoints}\n",
		Agent:  "container_runtime: process\nartificial_slots: 1\n",
	})
	c.StartMaster()
	c.StartAgent("gpu-1")
	c.Login()
	p := &person{t: t, c: c, dir: filepath.Join(c.Dir, "work")}
	p.furnish()
	c.Eventually("the agent joins", time.Minute, func() error {
		if !strings.Contains(c.Run("agent", "list"), "gpu-1") {
			return errors.New("it is not listed")
		}
		return nil
	})
	c.Run("task", "run", "--name", "done", "--", "true")
	p.done = taskID.FindString(c.Run("task", "describe", "done"))
	c.Run("experiment", "create", filepath.Join(p.dir, "paused.yaml"), "--paused")
	return p
}

var taskID = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// furnish copies the files, and makes the links that a copy would follow.
func (p *person) furnish() {
	p.t.Helper()
	if err := os.CopyFS(p.dir, os.DirFS("testdata/files")); err != nil {
		p.t.Fatal(err)
	}
	for dir, target := range map[string]string{"dangling": "nothing", "leading-out": "/etc/hostname"} {
		if err := os.Mkdir(filepath.Join(p.dir, dir), 0o755); err != nil {
			p.t.Fatal(err)
		}
		if err := os.Symlink(target, filepath.Join(p.dir, dir, "link")); err != nil {
			p.t.Fatal(err)
		}
	}
}

// types runs the program in the person's directory, and returns its output and exit code.
func (p *person) types(m mistake) (string, int) {
	p.t.Helper()
	args := make([]string, len(m.args))
	for i, a := range m.args {
		args[i] = strings.NewReplacer("{done}", p.done, "{master}", strings.TrimPrefix(p.c.URL, "http://")).Replace(a)
	}
	cmd := exec.CommandContext(p.t.Context(), p.c.Bin, args...)
	cmd.Dir, cmd.Stdin = p.dir, strings.NewReader(m.stdin)
	cmd.WaitDelay = time.Second
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + p.dir, "DET_MASTER=" + p.c.URL, "XDG_CONFIG_HOME=" + filepath.Join(p.c.Dir, "config"),
		"AWS_EC2_METADATA_DISABLED=true", "DOCKER_HOST=unix:///nonexistent",
	}
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		p.t.Fatalf("%s: %v", m.about, err)
	}
	return p.settled(string(out)), cmd.ProcessState.ExitCode()
}

var times = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.\d]*Z?`)

// typed returns the arguments as they are typed in a shell.
func typed(args []string) string {
	var b strings.Builder
	for i, a := range args {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(cmp.Or(a, `""`))
	}
	return b.String()
}

// settled replaces what differs between runs.
func (p *person) settled(out string) string {
	out = strings.NewReplacer(p.c.Bin, "det-deploy", p.dir, "DIR", p.c.Dir, "CLUSTER", p.c.URL, "http://MASTER", strings.TrimPrefix(p.c.URL, "http://"), "MASTER", p.done, "{done}").Replace(out)
	out = times.ReplaceAllString(out, "TIME")
	if out != "" && !strings.HasSuffix(out, "\n") {
		out += "\n"
	}
	return out
}
