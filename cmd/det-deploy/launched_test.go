package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/cloud/machine"
	"github.com/det-deploy/det-deploy/test/dockertest"
	"github.com/det-deploy/det-deploy/test/rest"
)

// elasticYAML configures an elastic pool.
const elasticYAML = `resource_manager:
  type: agent
  default_aux_resource_pool: burst
  default_compute_resource_pool: burst
resource_pools:
  - pool_name: burst
    agent_reconnect_wait: 60s
    provider:
      type: local
      artificial_slots: 2
      max_instances: 4
      start_delay: 100ms
      failure_rate: 0.2
      max_idle_agent_period: 2s
      agent_config_file_contents: {container_runtime: process, trust_users: true}
`

// TestElasticCrash kills the master repeatedly while machines are launched and terminated. Each
// acknowledged task ends once, with its exit code and its lines; there are never more machines than
// allowed, and none at the end.
func TestElasticCrash(t *testing.T) {
	rest.Only(t)
	c := newCluster(t, clusterConfig{Master: elasticYAML})
	t.Cleanup(c.endMachines)
	c.StartMaster()
	api := &rawAPI{t: t, url: c.URL}
	stop, watched := make(chan struct{}), make(chan struct{})
	calm := sync.OnceFunc(func() { close(stop) })
	defer time.AfterFunc(stormTime, calm).Stop()
	var killer, watcher sync.WaitGroup
	most, kills := 0, 0
	watcher.Go(func() { most = c.watchMachines(watched) })
	killer.Go(func() {
		for {
			pause := time.NewTimer(time.Duration(50+rand.IntN(1200)) * time.Millisecond)
			select {
			case <-stop:
				pause.Stop()
				return
			case <-pause.C:
			}
			if rand.IntN(4) > 0 { // otherwise it may be killed while it starts
				c.AwaitMaster(stop)
			}
			kills++
			c.RestartMaster()
		}
	})
	ids := make([]string, stormTasks(0, 60))
	for i := range ids {
		ids[i] = api.launch(i)
	}
	err := waitAll(api, ids)
	calm()
	close(watched)
	killer.Wait()
	watcher.Wait()
	if err != nil {
		t.Fatal(err)
	}
	c.awaitCalm(api)
	for i, id := range ids {
		checkTask(t, api, i, id)
	}
	c.Eventually("all machines are gone", time.Minute, func() error {
		if left := c.machines(); len(left) > 0 {
			return fmt.Errorf("%v are left", left)
		}
		return nil
	})
	if most > 4 || most < 1 {
		t.Errorf("machines: got %d at a time, want 1 to 4", most)
	}
	t.Logf("%d tasks, %d kills, at most %d machines", len(ids), kills, most)
}

// machines returns the data directories of machines that are not terminated.
func (c *cluster) machines() []string {
	all, _ := filepath.Glob(filepath.Join(c.Dir, "master", "machines", "*", "m-*", "data")) // the pattern is valid
	return all
}

func (c *cluster) watchMachines(stop chan struct{}) (most int) {
	for {
		alive := 0
		for _, dir := range c.machines() {
			if text, err := os.ReadFile(filepath.Join(filepath.Dir(dir), "machine.json")); err == nil && !strings.Contains(string(text), `"ended"`) {
				alive++
			}
		}
		most = max(most, alive)
		select {
		case <-stop:
			return most
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// endMachines kills the machines of a failed test.
func (c *cluster) endMachines() {
	kill(c.Master)
	for _, dir := range c.machines() {
		text, err := os.ReadFile(filepath.Join(filepath.Dir(dir), "pid"))
		if err != nil {
			continue
		}
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Kill()
			}
		}
	}
	// The last processes of a machine may still write for a moment, and one that was just launched has no pid
	// file yet.
	dir := filepath.Join(c.Dir, "master", "machines")
	for absent, end := 0, time.Now().Add(30*time.Second); absent < 10 && time.Now().Before(end); <-time.After(100 * time.Millisecond) {
		absent++
		if _, err := os.Lstat(dir); err == nil {
			absent = 0
			_ = os.RemoveAll(dir) // the next round sees whether it succeeded
		}
	}
}

// TestOnlyLaunchedMachinesJoin tries to join as a machine that was never launched, with the name of
// another machine, and as a task of the machine that reads its secret.
func TestOnlyLaunchedMachinesJoin(t *testing.T) {
	t.Parallel()
	// One machine that stays idle during the attempts.
	yaml := strings.NewReplacer("      failure_rate: 0.2\n", "", "max_idle_agent_period: 2s", "max_idle_agent_period: 10m").Replace(elasticYAML)
	c := newCluster(t, clusterConfig{Master: yaml})
	t.Cleanup(c.endMachines)
	c.StartMaster()
	c.Login()
	c.Run("task", "run", "--slots", "2", "--", "true")
	mine := filepath.Dir(c.machines()[0])
	id := filepath.Base(mine)
	secret, err := os.ReadFile(filepath.Join(mine, "secret"))
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.ReadFile(filepath.Join(mine, "agent.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	impostor := func(name string, text []byte) (int, string) {
		dir := filepath.Join(c.Dir, name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "secret"), text, 0o600); err != nil {
			t.Fatal(err)
		}
		yaml := strings.ReplaceAll(string(own), mine, dir) + "hooks: {on_join_refused: [touch, " + dir + "/off]}\n"
		c.Write(name+".yaml", yaml)
		cmd := exec.Command(c.Bin, "agent", "run", "--config-file", filepath.Join(c.Dir, name+".yaml"))
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			t.Fatalf("%s: got %v, want it refused\n%s", name, err, out)
		}
		if _, err := os.Stat(filepath.Join(dir, "off")); err != nil {
			t.Errorf("%s: got its hook not run: %v", name, err)
		}
		return exit.ExitCode(), string(out)
	}
	for _, tt := range []struct {
		name string
		text []byte
		want string
	}{
		{"nobody", machine.NewSecret("m-0123456789abcdef").Text(), "there is no machine"},
		{"namesake", machine.NewSecret(id).Text(), "not made by the claimed machine"},
		{"insider", secret, "joined already"},
	} {
		code, out := impostor(tt.name, tt.text)
		if code != 6 || !strings.Contains(out, tt.want) {
			t.Errorf("%s: got exit code %d and %s, want 6 and %q", tt.name, code, out, tt.want)
		}
	}
	// A join token does not permit the name of a machine either.
	token := c.Run("master", "join-token", "--config-file", filepath.Join(c.Dir, "master.yaml"), "--pool", "burst")
	c.Write("token", token)
	out, code := c.Try("agent", "run", "--master-host", "127.0.0.1", "--master-port", c.URL[strings.LastIndex(c.URL, ":")+1:],
		"--agent-id", id, "--resource-pool", "burst", "--data-dir", filepath.Join(c.Dir, "thief"), "--join-token-file", filepath.Join(c.Dir, "token"))
	if code != 6 || !strings.Contains(out, "join tokens are for static agents") {
		t.Errorf("a thief: got exit code %d and %s, want 6", code, out)
	}
	if got := c.Run("task", "run", "--slots", "2", "--", "echo $DET_AGENT_ID"); !strings.Contains(got, id) {
		t.Errorf("the machine: got %q, want it to work on", got)
	}
}

// TestFailedSetupIsShown uses a startup script that fails.
func TestFailedSetupIsShown(t *testing.T) {
	t.Parallel()
	yaml := strings.Replace(elasticYAML, "      failure_rate: 0.2\n", "      startup_script: echo no such disk as /dev/sdz; exit 3\n", 1)
	c := newCluster(t, clusterConfig{Master: yaml})
	t.Cleanup(c.endMachines)
	c.StartMaster()
	c.Login()
	c.Run("task", "run", "--detach", "--slots", "1", "--", "true")
	c.Eventually("the history says why", time.Minute, func() error {
		if out := c.Run("pool", "history", "burst"); !strings.Contains(out, "no such disk as /dev/sdz") {
			return errors.New(out)
		}
		return nil
	})
}

// TestAgentsUpdateToMasterVersion upgrades the master while an agent runs a task.
func TestAgentsUpdateToMasterVersion(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds the program twice; run without -short")
	}
	c := newCluster(t, clusterConfig{Agent: "container_runtime: process\ntrust_users: true\nauto_update: true\n"})
	was, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	next, err := newer()
	if err != nil {
		t.Fatal(err)
	}
	// The agent replaces a separate copy of the program.
	own := filepath.Join(c.Dir, "agent-det-deploy")
	program, err := os.ReadFile(was)
	if err == nil {
		err = os.WriteFile(own, program, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.Bin = was
	c.StartMaster()
	c.Login()
	c.Bin = own
	c.StartAgent("a", "--artificial-slots", "2")
	pid := c.Agents["a"].Process.Pid
	c.Bin = was
	api := &rawAPI{t: t, url: c.URL}
	body := `{"requestId":"follow","config":{"entrypoint":["i=0; while [ $i -lt 60 ]; do echo line $i; i=$((i+1)); sleep 0.1; done; exit 7"],"resources":{"slots":1}}}`
	id := strings.SplitN(strings.SplitN(string(api.retry("POST", "/api/v1/commands", body)), `"id":"`, 2)[1], `"`, 2)[0]
	c.Eventually("it runs", time.Minute, func() error {
		if n := len(api.logs(id)); n < 5 {
			return fmt.Errorf("%d lines", n)
		}
		return nil
	})
	kill(c.Master)
	c.Bin = next
	c.StartMaster()
	c.Eventually("the agent has followed", time.Minute, func() error {
		if out := c.Run("agent", "list"); !strings.Contains(out, "v1.1.0") || !strings.Contains(out, "enabled") {
			return errors.New(out)
		}
		return nil
	})
	if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err != nil || exe != own {
		t.Errorf("process %d: got %s and %v, want it to run %s still", pid, exe, err, own)
	}
	if err := waitAll(api, []string{id}); err != nil {
		t.Fatal(err)
	}
	cmd, err := api.command(id)
	if err != nil || cmd.ExitCode == nil || *cmd.ExitCode != 7 {
		t.Errorf("task: got %+v and %v, want its own code 7", cmd, err)
	}
	n := 0
	for _, l := range api.logs(id) {
		if l == "line "+strconv.Itoa(n) {
			n++
		}
	}
	if n != 60 {
		t.Errorf("task: got %d lines in their order, want 60", n)
	}
}

// TestPoolHasItsOwnDockerNetwork uses a setting of the oldest clusters: agent_docker_network
// names a network that does not exist yet.
func TestPoolHasItsOwnDockerNetwork(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs a Docker daemon; run without -short")
	}
	d := dockertest.Start(t)
	yaml := strings.NewReplacer(
		"      failure_rate: 0.2\n", "",
		"{container_runtime: process, trust_users: true}\n", "{container_runtime: docker}\n      agent_docker_network: pedl\n",
	).Replace(elasticYAML)
	c := newCluster(t, clusterConfig{
		Master: yaml + "task_container_defaults:\n  image: " + dockertest.Image + "\n", Env: []string{"DOCKER_HOST=" + d.Host},
	})
	t.Cleanup(c.endMachines)
	c.StartMaster()
	c.Login()
	id := strings.TrimSpace(c.Run("task", "run", "--detach", "--slots", "1", "--", "echo on; sleep 600"))
	c.Eventually("its container is on the network", 60*time.Second, func() error {
		n, err := d.OnNetwork(t.Context(), "pedl")
		if err == nil && n == 0 {
			err = errors.New("there is nothing on the network")
		}
		return err
	})
	c.Run("task", "kill", id)
	c.Eventually("the machine and its container are gone", time.Minute, func() error {
		n, err := d.Containers(t.Context())
		if err == nil && n+len(c.machines()) > 0 {
			err = fmt.Errorf("%d containers, machines %v", n, c.machines())
		}
		return err
	})
}
