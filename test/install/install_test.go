package install_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/test/booter"
	"github.com/det-deploy/det-deploy/test/clustertest"
)

// person is a user at a terminal in the lab, with an account of a cloud.
type person struct {
	t    *testing.T
	site site
	home string
}

// site is an emulated cloud.
type site interface {
	// command returns a command in the lab with the user's credentials.
	command(ctx context.Context, program string, args ...string) *exec.Cmd
	// noun is the command of the cloud, flags are the flags that its "up" needs, and address is the
	// prefix of a master's public address.
	noun() string
	flags() []string
	address() string
	// left returns the remaining resources that cost money.
	left(t testing.TB) []string
}

// one and two build det-deploy with different versions, once for both clouds.
var (
	one = sync.OnceValues(func() (string, error) { return clustertest.Build("v1.0.0") })
	two = sync.OnceValues(func() (string, error) { return clustertest.Build("v1.1.0") })
)

func TestMain(m *testing.M) { os.Exit(clustertest.Tests{M: m}.Run()) } //nolint:forbidigo // it is the main of the tests

// build returns the path of a program.
func (p *person) build(of func() (string, error)) string {
	p.t.Helper()
	path, err := of()
	if err != nil {
		p.t.Fatal(err)
	}
	return path
}

// types runs a command and returns its output.
func (p *person) types(program string, args ...string) (string, error) {
	cmd := p.site.command(p.t.Context(), program, args...)
	cmd.Env = append(cmd.Env, "PATH="+os.Getenv("PATH"), "HOME="+p.home, "NO_COLOR=1")
	start := time.Now()
	out, err := cmd.CombinedOutput()
	p.t.Logf("%s (%s)\n%s", strings.Join(args, " "), time.Since(start).Round(100*time.Millisecond), out)
	if err != nil {
		return string(out), fmt.Errorf("%s: %w", strings.Join(args, " "), err)
	}
	return string(out), nil
}

func (p *person) does(program, want string, args ...string) string {
	p.t.Helper()
	out, err := p.types(program, args...)
	if err != nil || !strings.Contains(out, want) {
		p.t.Fatalf("got %v, want %q in the answer", err, want)
	}
	return out
}

func (p *person) write(name, text string) string {
	p.t.Helper()
	path := filepath.Join(p.home, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
	return path
}

// live installs a cluster, runs tasks, upgrades the cluster while a task is running, and removes
// it.
func (p *person) live() {
	p.t.Helper()
	t, noun := p.t, p.site.noun()
	one, two := p.build(one), p.build(two)
	// The machines of the lab have no Docker.
	agent := p.write("agent.yaml", "container_runtime: process\ntrust_users: true\n")

	p.does(one, "export DET_MASTER=https://"+p.site.address(), append([]string{
		noun, "up", "--yes", "--cluster-id", "lab", "--inbound-cidr", booter.Gateway + "/32", "--max-agents", "2", "--agent-config-file", agent,
	}, p.site.flags()...)...)
	p.does(one, "running", noun, "status", "--cluster-id", "lab")
	p.does(one, "nothing to do", noun, "plan", "--cluster-id", "lab")
	p.does(one, "hello from a machine", "task", "run", "--slots", "0", "--", "echo", "hello from a machine")

	p.does(two, "", noun, "list")
	if out, err := p.types(two, noun, "up", "--yes", "--cluster-id", "lab"); err == nil || !strings.Contains(out, "upgrade") {
		t.Errorf("up by a newer program: got %v, want an error with upgrade", err)
	}
	long := p.does(one, "", "task", "run", "--detach", "--slots", "0", "--", "sh", "-c", "while echo a line; do sleep 1; done")
	lines := strings.Fields(long)
	id := lines[len(lines)-1] // the ID is on the last line
	p.does(two, "", noun, "upgrade", "--yes", "--cluster-id", "lab")
	p.does(two, "v1.1.0", noun, "status", "--cluster-id", "lab")
	before := strings.Count(p.does(two, "a line", "task", "logs", id), "a line")
	p.eventually("the task that ran meanwhile writes on", 4*time.Minute, func() error {
		out, err := p.types(two, "task", "logs", id)
		if err == nil && strings.Count(out, "a line") <= before {
			err = errors.New("there are no more lines")
		}
		return err
	})

	p.does(two, "", noun, "down", "--yes", "--delete-data", "--cluster-id", "lab")
	p.does(two, "There are no clusters", noun, "list")
	if left := p.site.left(t); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

func (p *person) eventually(what string, limit time.Duration, try func() error) {
	p.t.Helper()
	var err error
	for end := time.Now().Add(limit); time.Now().Before(end); <-time.After(time.Second) {
		if err = try(); err == nil {
			return
		}
	}
	p.t.Fatalf("%s: not within %s: %v", what, limit, err)
}
