// Package screens_test runs det-deploy and shells on real terminals, and looks at what a person
// sees there.
package screens_test

import (
	"context"
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/test/clustertest"
	"github.com/det-deploy/det-deploy/test/port"
	"github.com/det-deploy/det-deploy/test/terminal"
)

func TestMain(m *testing.M) { os.Exit(clustertest.Tests{M: m}.Run()) } //nolint:forbidigo // the end of the program

// person is a user of a cluster with a home directory.
type person struct {
	t    *testing.T
	c    *clustertest.Cluster
	home string
}

// newPerson starts a cluster with one agent with two slots, and logs in as admin.
func newPerson(t *testing.T) *person {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a cluster; run without -short")
	}
	c := clustertest.New(t, clustertest.Config{
		Master: "cluster_name: lab\ncheckpoint_storage: {type: shared_fs, host_path: /srv/checkpoints}\n",
		Agent:  "container_runtime: process\nartificial_slots: 2\n",
	})
	c.StartMaster()
	c.StartAgent("gpu-1")
	c.Login()
	p := &person{t: t, c: c, home: filepath.Join(c.Dir, "home")}
	if err := os.CopyFS(p.home, os.DirFS("testdata/home")); err != nil {
		t.Fatal(err)
	}
	p.await("the agent joins", "gpu-1", "agent", "list")
	return p
}

// await waits until the output of a command has a text.
func (p *person) await(what, text string, args ...string) {
	p.t.Helper()
	p.c.Eventually(what, time.Minute, func() error {
		out, _ := p.c.Try(args...)
		if !strings.Contains(out, text) {
			return &missingError{text, out}
		}
		return nil
	})
}

type missingError struct{ text, out string }

func (e *missingError) Error() string { return e.text + " is missing in:\n" + e.out }

// command returns a program that the person starts at home.
func (p *person) command(name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(context.WithoutCancel(p.t.Context()), name, args...) // some run after the test
	c.Dir, c.Env = p.home, p.env()
	return c
}

// env is the environment of a person who has nothing but det-deploy.
func (p *person) env() []string {
	return []string{
		"PATH=" + filepath.Dir(p.c.Bin) + string(filepath.ListSeparator) + os.Getenv("PATH"), "HOME=" + p.home, "LANG=C.UTF-8", "TZ=UTC",
		"XDG_CONFIG_HOME=" + filepath.Join(p.c.Dir, "config"), "XDG_STATE_HOME=" + filepath.Join(p.c.Dir, "state"), "XDG_DATA_HOME=" + filepath.Join(p.c.Dir, "data"),
		"TERM=xterm-256color", "AWS_EC2_METADATA_DISABLED=true", "DOCKER_HOST=unix:///nonexistent",
	}
}

// local starts a cluster of this person's own, without agents, which ends with the test.
func (p *person) local(id string) {
	p.t.Helper()
	p.run("local", "up", "--yes", "--cluster-id", id, "--agents", "0", "--port", strconv.Itoa(port.Free(p.t)))
	p.t.Cleanup(func() { p.run("local", "down", "--yes", "--cluster-id", id, "--delete-data") })
}

// run runs the program without a terminal; it must succeed.
func (p *person) run(args ...string) {
	p.t.Helper()
	c := p.command(p.c.Bin, args...)
	c.WaitDelay = time.Second
	if out, err := c.CombinedOutput(); err != nil {
		p.t.Fatalf("det-deploy %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// has returns a condition for Await: a text on the screen.
func has(text string) (string, func(string) bool) {
	return "the text " + text, func(screen string) bool { return strings.Contains(screen, text) }
}

// ends returns a condition for Await: a screen that ends in a text.
func ends(text string) (string, func(string) bool) {
	return text + " at the end", func(screen string) bool { return strings.HasSuffix(screen, text+"\n") }
}

// open opens a terminal of the usual size.
func open(t *testing.T) *terminal.Terminal { return terminal.Open(t, 80, 24) }

// port returns a free port.
func (p *person) port() string { return strconv.Itoa(port.Free(p.t)) }

// put writes a file that cannot be compressed.
func (p *person) put(name string, size int) {
	p.t.Helper()
	file := filepath.Join(p.home, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		p.t.Fatal(err)
	}
	noise := make([]byte, size)
	_, _ = rand.Read(noise) // it never fails
	if err := os.WriteFile(file, noise, 0o600); err != nil {
		p.t.Fatal(err)
	}
}

var (
	ids   = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	times = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.\d]*Z?`)
	ages  = regexp.MustCompile(`\b\d+[smh]\b *`)
	ports = regexp.MustCompile(`(127\.0\.0\.1:|--port |port )\d+`)
)

// settled replaces the parts that differ between runs.
func (p *person) settled(text string) string {
	text = strings.NewReplacer(p.home, "HOME", p.c.Dir, "CLUSTER", p.c.URL, "http://MASTER", "^C", "").Replace(text)
	text = times.ReplaceAllString(ids.ReplaceAllString(text, "ID"), "TIME")
	text = ages.ReplaceAllString(text, "AGE")
	return ports.ReplaceAllString(text, "${1}PORT")
}
