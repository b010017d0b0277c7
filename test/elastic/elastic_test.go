// Package elastic_test tests an elastic pool with all its parts: the det client, our program as
// master and as agent, an emulated cloud, and machines that boot.
package elastic_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	motest "github.com/det-deploy/det-deploy/test/moto"
	"github.com/det-deploy/det-deploy/test/rest"
)

func TestTaskLaunchesMachineAndIdleMachineIsTerminated(t *testing.T) {
	t.Parallel()
	c, _ := onAmazon(t, `
instance_type: t3.medium
max_instances: 2
max_idle_agent_period: 5s
startup_script: echo "startup script ran" >/dev/console
`)
	task := c.run("echo hello from $(hostname); exec sleep 3600")
	began := time.Now()
	id := c.machines(1, 3*time.Minute)[0]
	c.logs(task, "hello from ip-")
	t.Logf("the task wrote its first line after %s", time.Since(began).Round(time.Millisecond))
	if text := c.Console(id); !strings.Contains(text, "startup script ran") {
		t.Errorf("the startup script did not run:\n%s", text)
	}
	if out := c.ok("agent", "list"); !strings.Contains(out, id) {
		t.Errorf("the agent is not called as its machine:\n%s", out)
	}
	c.ok("command", "kill", task)
	c.machines(0, 3*time.Minute)
	c.history(id, "t3.medium", "on-demand", "idle")
}

// history checks the history of a machine.
func (c *cluster) history(id string, want ...string) {
	c.t.Helper()
	c.eventually("the history tells of "+id, time.Minute, func() error {
		out := c.program("pool", "history", "default")
		for line := range strings.Lines(out) {
			if !strings.Contains(line, id) {
				continue
			}
			for _, w := range want {
				if !strings.Contains(line, w) {
					return errors.New("no " + w + " in " + line)
				}
			}
			return nil
		}
		return errors.New(out)
	})
}

func TestNextTypeIsUsedWithoutCapacity(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	c, a := onAmazon(t, `
instance_types: [t3.medium, t3.large]
max_instances: 2
max_idle_agent_period: 5s
`)
	none := motest.Capacity{Market: "on-demand"}
	a.account.Limit(t, none)
	task := c.run("echo hello from $(hostname)")
	// Without any capacity the task's log contains the error of the cloud.
	c.logs(task, "InsufficientInstanceCapacity")
	none.Left = -1
	a.account.Limit(t, none)
	a.account.Limit(t, motest.Capacity{Type: "t3.medium"})
	c.logs(task, "hello from ip-")
	for _, m := range a.account.Machines(t) {
		if m.Type != "t3.large" {
			t.Errorf("got a %s", m.Type)
		}
	}
	c.machines(0, 3*time.Minute)
}
