package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// logged waits until the log of a process has a text.
func (c *cluster) logged(name, text string) {
	c.t.Helper()
	c.eventually(name+" says "+text, time.Minute, func() error {
		log, err := os.ReadFile(filepath.Join(c.dir, name+".log"))
		if err == nil && !strings.Contains(string(log), text) {
			err = fmt.Errorf("it says\n%s", tail(log, 2000))
		}
		return err
	})
}

// connected waits until the master shows n agents that are enabled.
func (c *cluster) connected(n int) {
	c.t.Helper()
	c.eventually(fmt.Sprintf("%d agents are connected", n), time.Minute, func() error {
		out := c.run("agent", "list")
		if got := strings.Count(out, "enabled"); got != n {
			return fmt.Errorf("%d are\n%s", got, out)
		}
		return nil
	})
}

// exitCode waits for a process.
func exitCode(cmd *exec.Cmd) int {
	_ = cmd.Wait() // the code says it
	return cmd.ProcessState.ExitCode()
}

// TestARefusedTwinCostsTheAgentNothing: a second machine of a connected agent's name,
// with a good join token, is refused; the agent comes back with what it has.
func TestARefusedTwinCostsTheAgentNothing(t *testing.T) {
	t.Parallel()
	c := newCluster(t, clusterConfig{Agent: "container_runtime: process\nartificial_slots: 1\n"})
	c.startMaster()
	c.login()
	c.startAgent("a")
	c.connected(1)
	c.agents["twin"] = c.spawn("twin", "agent", "run", "--config-file", filepath.Join(c.dir, "agent.yaml"), "--agent-id", "a",
		"--data-dir", filepath.Join(c.dir, "agent-twin"), "--join-token-file", filepath.Join(c.dir, "join-token"))
	c.logged("twin", "already connected")
	kill(c.agents["twin"])
	kill(c.agents["a"])
	c.agents["a"] = c.spawn("agent-a", "agent", "run", "--config-file", filepath.Join(c.dir, "agent.yaml"), "--agent-id", "a",
		"--data-dir", filepath.Join(c.dir, "agent-a"), "--join-token-file", filepath.Join(c.dir, "nowhere"))
	c.connected(1)
}

// TestARevokedAgentIsOut: it is disconnected at once, its task ends, and neither its
// credential nor a join token helps until it is admitted, also over a restart.
func TestARevokedAgentIsOut(t *testing.T) {
	t.Parallel()
	c := newCluster(t, clusterConfig{Agent: "container_runtime: process\nartificial_slots: 1\n"})
	c.startMaster()
	c.login()
	c.startAgent("a")
	c.connected(1)
	pid := filepath.Join(c.dir, "pid")
	c.run("task", "run", "--detach", "--slots", "1", "--", "echo $$ > "+pid+"; exec sleep 600")
	var task string
	c.eventually("the task runs", time.Minute, func() error {
		text, err := os.ReadFile(pid)
		task = strings.TrimSpace(string(text))
		if err == nil && task == "" {
			err = fmt.Errorf("no process yet")
		}
		return err
	})
	c.run("agent", "revoke", "a", "--yes")
	if code := exitCode(c.agents["a"]); code != 6 {
		t.Errorf("the agent: got exit %d, want 6", code)
	}
	c.eventually("the task has ended", time.Minute, func() error {
		if _, err := os.Stat("/proc/" + task); err == nil {
			return fmt.Errorf("process %s is there", task)
		}
		return nil
	})
	kill(c.master)
	c.startMaster()
	c.login()
	c.startAgent("a")
	if code := exitCode(c.agents["a"]); code != 6 {
		t.Errorf("the agent again: got exit %d, want 6", code)
	}
	if out := c.run("agent", "list", "--revoked"); !strings.Contains(out, "admin") {
		t.Errorf("got\n%s, want a, revoked by admin", out)
	}
	c.run("agent", "admit", "a")
	token := c.run("agent", "join-token", "create", "--uses", "1")
	c.write("join-token", token)
	if err := os.Remove(filepath.Join(c.dir, "agent-a", "credential")); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	c.startAgent("a")
	c.connected(1)
	if out := c.run("agent", "join-token", "list"); !strings.Contains(out, "1/1") {
		t.Errorf("got\n%s, want the token used", out)
	}
	c.startAgent("b")
	c.logged("agent-b", "as many have joined")
}
