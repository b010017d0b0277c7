// Package kube_test checks the documented behavior of both kinds of cluster.
package kube_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// limit is the time for any condition in a cluster to be met.
const limit = 60 * time.Second

// cluster is a cluster that a test has started.
type cluster struct {
	t *testing.T
	// bin is the directory of the programs.
	bin string
	env []string
}

// start starts a cluster for t.
func start(t *testing.T, id string, flags ...string) *cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("a cluster takes five seconds to start, and many minutes to build the first time")
	}
	c := &cluster{t: t, env: append(os.Environ(), "KUBE_LAB_ID="+id, "KUBE_LAB_STATE="+t.TempDir()+"/state")}
	c.bin = strings.TrimSpace(c.must("build"))
	t.Cleanup(func() { c.must("down") })
	c.must(append([]string{"up"}, flags...)...)
	return c
}

// run runs a command of kube.sh, including kubectl.
func (c *cluster) run(args ...string) (string, error) {
	cmd := exec.Command("./kube.sh", args...)
	cmd.Env = c.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (c *cluster) must(args ...string) string {
	c.t.Helper()
	out, err := c.run(args...)
	if err != nil {
		c.t.Fatalf("kube.sh %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (c *cluster) apply(file string) {
	c.t.Helper()
	c.must("kubectl", "apply", "-f", file)
}

// check is an eventual condition of a cluster: a command whose output will contain some text.
type check struct {
	name, want string
	args       []string
}

func (c *cluster) check(all ...check) {
	c.t.Helper()
	for _, k := range all {
		c.t.Run(k.name, func(t *testing.T) { c.eventually(t, k) })
	}
}

func (c *cluster) eventually(t *testing.T, k check) {
	t.Helper()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(limit); ; <-tick.C {
		out, err := c.run(append([]string{"kubectl"}, k.args...)...)
		if strings.Contains(out, k.want) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("got %q (%v), want something with %q", out, err, k.want)
		}
	}
}

// get returns a kubectl command that prints one field of an object.
func get(what, path string) []string {
	return append(append([]string{"get"}, strings.Fields(what)...), "-o", "jsonpath={"+path+"}")
}

// inPod returns a command that runs the test program in a pod of the deployment "web".
func inPod(args ...string) []string {
	return append([]string{"exec", "deploy/web", "--", "/testapp"}, args...)
}

// program runs the test program on this machine until it prints the wanted text.
func (c *cluster) program(t *testing.T, want string, args ...string) {
	t.Helper()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(limit); ; <-tick.C {
		out, err := exec.CommandContext(t.Context(), c.bin+"/testapp", args...).CombinedOutput()
		if bytes.Contains(out, []byte(want)) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("testapp %s: got %q (%v), want something with %q", fmt.Sprint(args), out, err, want)
		}
	}
}
