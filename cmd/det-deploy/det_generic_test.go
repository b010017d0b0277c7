package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/test/dettest"
)

// TestGenericTasksOfTheDetClient runs a task on the slots of two machines, and pauses and resumes it with its
// child, although the master is killed meanwhile.
func TestGenericTasksOfTheDetClient(t *testing.T) {
	t.Parallel()
	dettest.Home(t)
	c := newCluster(t, clusterConfig{Agent: "container_runtime: process\ntrust_users: true\nartificial_slots: 1\n"})
	c.StartMaster()
	c.StartAgent("a")
	c.StartAgent("b")
	c.Login()
	det := dettest.Login(t, c.URL, "admin", password)
	file := filepath.Join(t.TempDir(), "task.yaml")
	text := `entrypoint: [sh, -c, "trap 'echo saved; exit 0' TERM; echo begun; while :; do sleep 0.1; done"]` + "\nresources: {slots: 2}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c.Eventually("a task is accepted", time.Minute, func() error {
		out, err := det.Exec("", "task", "create", file) // both machines must have joined
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		text = out
		return nil
	})
	id := taskID.FindString(text)
	child := taskID.FindString(det.OK("", "task", "create", file, "--config", "resources.slots=0", "--parent", id))
	logged := func(text string, n int) func() error {
		return func() error {
			if out, _ := c.Try("task", "logs", id); strings.Count(out, text) < n {
				return fmt.Errorf("got\n%s", out)
			}
			return nil
		}
	}
	are := func(state string) func() error {
		return func() error {
			out, code := c.Try("task", "list", "--state", state, "--output", "name")
			if code != 0 || !strings.Contains(out, id) || !strings.Contains(out, child) {
				return fmt.Errorf("got %s", out)
			}
			return nil
		}
	}
	c.Eventually("the task runs on both machines", time.Minute, logged("begun", 2))
	c.Eventually("its child runs", time.Minute, are("running"))

	det.OK("", "task", "pause", id)
	c.RestartMaster()
	c.Eventually("both are paused", 2*time.Minute, are("paused"))
	c.Eventually("the programs have saved", time.Minute, logged("saved", 2))
	c.Run("task", "run", "--slots", "1", "--", "true") // its slots are free
	if out := c.Run("task", "describe", id); !strings.Contains(out, "paused by user admin") {
		t.Errorf("got %s, want who has paused it", out)
	}
	c.RestartMaster()
	c.Eventually("the task is resumed", time.Minute, func() error {
		out, err := det.Exec("", "task", "unpause", id)
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
	c.Eventually("the task runs again", time.Minute, logged("begun", 4))
	c.Eventually("its child runs again", time.Minute, are("running"))
	c.Run("task", "pause", child)
	c.Run("task", "resume", child)
	c.Run("task", "kill", id)
	c.Eventually("both are killed", time.Minute, are("killed"))
}
