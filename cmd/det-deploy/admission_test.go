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

// logged waits until the log of a process contains a text.
func (c *cluster) logged(name, text string) {
	c.T.Helper()
	c.Eventually(name+" says "+text, time.Minute, func() error {
		log, err := os.ReadFile(filepath.Join(c.Dir, name+".log"))
		if err == nil && !strings.Contains(string(log), text) {
			err = fmt.Errorf("it says\n%s", tail(log, 2000))
		}
		return err
	})
}

// connected waits until n agents are enabled. An agent that was sick is probed at least once a
// minute.
func (c *cluster) connected(n int) {
	c.T.Helper()
	c.Eventually(fmt.Sprintf("%d agents are connected", n), 3*time.Minute, func() error {
		out := c.Run("agent", "list")
		if got := strings.Count(out, "enabled"); got != n {
			return fmt.Errorf("%d are\n%s", got, out)
		}
		return nil
	})
}

// exitCode waits for a process and returns its exit code.
func exitCode(cmd *exec.Cmd) int {
	_ = cmd.Wait() // ExitCode has the result
	return cmd.ProcessState.ExitCode()
}

// TestRejectedDuplicateDoesNotAffectAgent starts a second machine with the name of a connected agent
// and a valid join token. It must be rejected, and the agent must be able to reconnect with its
// credential.
func TestRejectedDuplicateDoesNotAffectAgent(t *testing.T) {
	t.Parallel()
	c := newCluster(t, clusterConfig{Agent: "container_runtime: process\nartificial_slots: 1\n"})
	c.StartMaster()
	c.Login()
	c.StartAgent("a")
	c.connected(1)
	c.Agents["twin"] = c.Spawn("twin", "agent", "run", "--config-file", filepath.Join(c.Dir, "agent.yaml"), "--agent-id", "a",
		"--data-dir", filepath.Join(c.Dir, "agent-twin"), "--join-token-file", filepath.Join(c.Dir, "join-token"))
	c.logged("twin", "already connected")
	kill(c.Agents["twin"])
	kill(c.Agents["a"])
	c.Agents["a"] = c.Spawn("agent-a", "agent", "run", "--config-file", filepath.Join(c.Dir, "agent.yaml"), "--agent-id", "a",
		"--data-dir", filepath.Join(c.Dir, "agent-a"), "--join-token-file", filepath.Join(c.Dir, "nowhere"))
	c.connected(1)
}

// TestRevokedAgentIsDisconnected revokes an agent: it is disconnected immediately, its task ends, and
// neither its credential nor a join token is accepted until it is admitted again, even after a
// restart.
func TestRevokedAgentIsDisconnected(t *testing.T) {
	t.Parallel()
	c := newCluster(t, clusterConfig{Agent: "container_runtime: process\nartificial_slots: 1\n"})
	c.StartMaster()
	c.Login()
	c.StartAgent("a")
	c.connected(1)
	nap := naps()
	c.Run("task", "run", "--detach", "--slots", "1", "--", "exec sleep "+nap)
	c.Eventually("the task runs", time.Minute, func() error {
		if n := len(copies(nap)); n != 1 {
			return fmt.Errorf("%d run", n)
		}
		return nil
	})
	c.Run("agent", "revoke", "a", "--yes")
	if code := exitCode(c.Agents["a"]); code != 6 {
		t.Errorf("the agent: got exit %d, want 6", code)
	}
	c.Eventually("the task has ended", time.Minute, func() error {
		if left := copies(nap); len(left) > 0 {
			return fmt.Errorf("processes %v are there", left)
		}
		return nil
	})
	kill(c.Master)
	c.StartMaster()
	c.Login()
	c.StartAgent("a")
	if code := exitCode(c.Agents["a"]); code != 6 {
		t.Errorf("the agent again: got exit %d, want 6", code)
	}
	if out := c.Run("agent", "list", "--revoked"); !strings.Contains(out, "admin") {
		t.Errorf("got\n%s, want a, revoked by admin", out)
	}
	c.Run("agent", "admit", "a")
	token := c.Run("agent", "join-token", "create", "--uses", "1")
	c.Write("join-token", token)
	if err := os.Remove(filepath.Join(c.Dir, "agent-a", "credential")); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	c.StartAgent("a")
	c.connected(1)
	if out := c.Run("agent", "join-token", "list"); !strings.Contains(out, "1/1") {
		t.Errorf("got\n%s, want the token used", out)
	}
	c.StartAgent("b")
	c.logged("agent-b", "as many have joined")
}
