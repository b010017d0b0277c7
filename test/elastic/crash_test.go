package elastic_test

import (
	"errors"
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/test/faultproxy"
	"github.com/det-deploy/det-deploy/test/rest"
)

// TestTheMasterIsKilledAtEveryStage kills the master at each stage of one task on one machine.
// There must be one machine at the end, and each line of the task once.
func TestTheMasterIsKilledAtEveryStage(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	c, a := onAmazon(t, `
instance_type: t3.medium
max_instances: 3
max_idle_agent_period: 5s
`)
	// The first launch succeeds, but its response is lost: the master is killed while it waits for
	// the response.
	proxy := faultproxy.Listen(t, c.lab.Listen(t), a.account.Endpoint, c.lab.Client(), 0)
	a.endpoint = proxy.URL
	id := c.killAtEveryStage(func() func() {
		return proxy.Add(faultproxy.Rule{Action: regexp.MustCompile("^RunInstances$"), Effect: faultproxy.Lose()})
	})
	if all := a.account.Machines(t); len(all) != 1 {
		t.Errorf("got %d machines in all, want 1: %+v", len(all), all)
	}
	c.history(id, "t3.medium", "idle")
}

// killAtEveryStage runs one task on one machine. loseLaunch drops the responses to launches until
// undo is called.
func (c *cluster) killAtEveryStage(loseLaunch func() (undo func())) (id string) {
	t := c.t
	t.Helper()
	again := func(stage string) {
		t.Helper()
		t.Logf("kill -9 %s", stage)
		c.kill()
		c.start()
	}
	again("before there is anything")
	remove := loseLaunch()
	task := c.run("echo line 1 on $(hostname); for n in 2 3 4 5 6 7 8 9 10; do sleep 3; echo line $n; done")
	id = c.machines(1, 3*time.Minute)[0]
	remove()
	again("after the launch, before its answer")
	c.eventually("the machine boots", 3*time.Minute, func() error {
		if c.Console(id) == "" {
			return errors.New("its console is empty")
		}
		return nil
	})
	again("while the machine boots")
	c.logs(task, "line 1 on")
	again("while the task runs")
	c.logs(task, "line 10")
	again("when the task has ended")
	c.machines(0, 3*time.Minute)
	again("when the machine is gone")
	out := c.ok("task", "logs", task)
	for n := 1; n <= 10; n++ {
		if got := len(regexp.MustCompile(fmt.Sprintf(`(?m)line %d\b`, n)).FindAllString(out, -1)); got != 1 {
			t.Errorf("got line %d %d times:\n%s", n, got, out)
		}
	}
	if n := len(c.Running()); n != 0 {
		t.Errorf("got %d machines running, want 0", n)
	}
	return id
}
