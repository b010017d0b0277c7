package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/test/dettest"
	"github.com/det-deploy/det-deploy/test/dockertest"
)

// TestDetClient runs the commands of the unmodified det client that need containers or the slots of
// two agents. All of its commands are in the table of TestWalkOfTheDetClient.
func TestDetClient(t *testing.T) {
	docker := dockertest.Start(t)
	c := newCluster(t, clusterConfig{
		Env: []string{"DOCKER_HOST=" + docker.Host},
		Master: "task_container_defaults:\n  network_mode: host\n  image: " + dockertest.Image + "\n" +
			"resource_manager:\n  type: agent\n  scheduler: {type: priority, preemption: true}\n",
		Agent: "container_runtime: docker\nartificial_slots: 2\n",
	})
	c.StartMaster()
	c.StartAgent("a")
	c.StartAgent("b")
	admin := dettest.Login(t, c.URL, "admin", password)
	c.Eventually("both agents are listed", time.Minute, func() error {
		out, err := admin.Exec("", "agent", "list", "--json")
		if err == nil && strings.Count(out, `"registered_time"`)+strings.Count(out, `"registeredTime"`) < 2 {
			return errors.New(out)
		}
		return err
	})
	t.Run("commands", func(t *testing.T) { detCommands(c, admin.On(t)) })
	t.Run("cluster info", func(t *testing.T) { detInfo(t, c, admin.On(t)) })
	t.Run("bind mounts", func(t *testing.T) { detBindMounts(t, admin.On(t)) })
	t.Run("context", func(t *testing.T) { detContext(t, admin.On(t)) })
	t.Run("queue", func(t *testing.T) { detQueue(t, c, admin.On(t)) })
	t.Run("agents and slots", func(t *testing.T) { detAgents(t, c, admin.On(t)) })
	if out := admin.Want([]string{"master", "config", "show"}, "resource_manager"); strings.Contains(out, password) {
		t.Errorf("the configuration shows a password: %s", out)
	}
}

var launched = regexp.MustCompile(`\(id: ([0-9a-f-]{36}), name: ([^)]+\))`)

// detach starts a command and returns its ID.
func detach(cl *dettest.Client, config []string, argv ...string) string {
	args := append([]string{"command", "run", "--detach"}, config...)
	id := strings.TrimSpace(cl.OK("", append(args, argv...)...))
	if m := launched.FindStringSubmatch(id); m != nil {
		id = m[1]
	}
	return id
}

func detCommands(c *cluster, cl *dettest.Client) {
	cl.Want([]string{"command", "run", "echo", "hello from a container"},
		"Launched command", "hello from a container",
		"resources exited successfully with a zero exit code", "Task log stream ended")
	cl.Want([]string{"command", "run", "sh -c 'exit 3'"},
		"crashed: resources failed with non-zero exit code: container failed with non-zero exit code: 3 (exit code 3)")
	long := detach(cl, nil, "sleep", "600")
	c.Eventually("the command runs", time.Minute, func() error {
		out, err := cl.Exec("", "command", "describe", long)
		if err == nil && !strings.Contains(out, "RUNNING") {
			return errors.New(out)
		}
		return err
	})
	cl.Want([]string{"slot", "list"}, long)
	cl.OK("", "command", "kill", long)
	c.Eventually("the command ended", time.Minute, func() error {
		out, err := cl.Exec("", "command", "describe", long)
		if err == nil && !strings.Contains(out, "TERMINATED") {
			return errors.New(out)
		}
		return err
	})
}

// detInfo reads a task's cluster information with the client's library.
func detInfo(t *testing.T, c *cluster, cl *dettest.Client) {
	id := detach(cl, []string{"--config", "resources.slots=2"}, "cat "+agentv1.ClusterInfoPath)
	file := filepath.Join(t.TempDir(), "cluster.json")
	c.Eventually("the file is in the log", time.Minute, func() error {
		out, err := cl.Exec("", "task", "logs", id)
		if err != nil {
			return err
		}
		found := regexp.MustCompile(`\{"master_url.*\}`).FindString(out)
		if found == "" {
			return errors.New(out)
		}
		return os.WriteFile(file, []byte(found), 0o600)
	})
	text := "from determined import _info\n" +
		"i = _info.ClusterInfo._from_file('" + file + "')\n" +
		"print(i.task_type, i.slot_ids, i.task_id, i.allocation_id, i.agent_id in ('a', 'b'), i.master_url[:7], len(i.session_token) > 9)\n"
	out, err := cl.Python("-c", text).CombinedOutput()
	if want := "COMMAND [0, 1] " + id + " " + id + ".1 True http:// True\n"; err != nil || string(out) != want {
		t.Errorf("got %s, %v, want %s", out, err, want)
	}
}

func TestPlainProcessesKnowWhereTheyRun(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can isolate plain processes")
	}
	c := newCluster(t, clusterConfig{Agent: "container_runtime: process\nartificial_slots: 2\n"})
	c.StartMaster()
	c.StartAgent("a")
	admin := dettest.Login(t, c.URL, "admin", password)
	c.Eventually("the agent is listed", time.Minute, func() error {
		out, err := admin.Exec("", "slot", "list")
		if err == nil && strings.Count(out, "a ") < 2 {
			err = errors.New(out)
		}
		return err
	})
	detInfo(t, c, admin)
}

// detBindMounts runs the check that the upstream documentation describes after an additional disk
// was mounted on the agents.
func detBindMounts(t *testing.T, cl *dettest.Client) {
	disk := "/mnt/disks/second"
	if _, err := os.Stat(disk); err == nil || os.Getuid() != 0 {
		disk = t.TempDir()
	} else {
		made := firstMissing(disk)
		if err := os.MkdirAll(disk, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(made) })
	}
	if err := os.WriteFile(filepath.Join(disk, "dataset.bin"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "command.yaml")
	text := "bind_mounts:\n  - host_path: " + disk + "\n    container_path: /second\n"
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cl.Want([]string{"command", "run", "--config-file", config, "ls", "-l", "/second"}, "dataset.bin")
}

// firstMissing returns the topmost directory of path that does not exist.
func firstMissing(path string) string {
	for {
		parent := filepath.Dir(path)
		if _, err := os.Stat(parent); err == nil {
			return path
		}
		path = parent
	}
}

func detContext(t *testing.T, cl *dettest.Client) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"hello.txt": "from the context", "sub/run.sh": "#!/bin/sh\necho script ran\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cl.Want([]string{"command", "run", "--context", dir, "./sub/run.sh && cat hello.txt && pwd"},
		"script ran", "from the context", "/run/determined/workdir")
}

func detQueue(t *testing.T, c *cluster, cl *dettest.Client) {
	first := detach(cl, []string{"--config", "resources.slots=2"}, "sleep", "600")
	second := detach(cl, []string{"--config", "resources.slots=2"}, "sleep", "600")
	waiting := detach(cl, []string{"--config", "resources.slots=2"}, "sleep", "600")
	out := cl.Want([]string{"job", "list"}, "STATE_QUEUED")
	jobs := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`).FindAllString(out, -1)
	if len(jobs) == 0 {
		t.Fatalf("no job ids in %q", out)
	}
	last := jobs[len(jobs)-1]
	cl.OK("", "job", "update", last, "--priority", "10")
	cl.Want([]string{"job", "list"}, "10")
	cl.OK("", "command", "set", "priority", waiting, "30")
	cl.Want([]string{"job", "list"}, "30")
	cl.OK("", "command", "kill", first)
	c.Eventually("the waiting command runs once another is gone", time.Minute, func() error {
		out, err := cl.Exec("", "command", "describe", waiting)
		if err == nil && !strings.Contains(out, "RUNNING") {
			return errors.New(out)
		}
		return err
	})
	cl.OK("", "command", "kill", second)
	cl.OK("", "command", "kill", waiting)
}

func detAgents(t *testing.T, c *cluster, cl *dettest.Client) {
	cl.Want([]string{"agent", "list"}, "a", "b", "default")
	cl.OK("", "agent", "disable", "b")
	id := detach(cl, []string{"--config", "resources.slots=2"}, "sleep", "600")
	c.Eventually("it runs on the enabled agent", time.Minute, func() error {
		out, err := cl.Exec("", "command", "describe", id)
		if err == nil && !strings.Contains(out, "RUNNING") {
			return errors.New(out)
		}
		return err
	})
	cl.Want([]string{"agent", "disable", "a", "--drain"}, id)
	cl.Want([]string{"command", "describe", id}, "RUNNING")
	cl.OK("", "agent", "enable", "--all")
	cl.OK("", "slot", "disable", "b", "0")
	cl.Want([]string{"slot", "list"}, "False")
	cl.OK("", "slot", "enable", "b", "0")
	cl.OK("", "agent", "disable", "a")
	c.Eventually("a plain disable ends what ran there", time.Minute, func() error {
		out, err := cl.Exec("", "command", "describe", id)
		if err == nil && !strings.Contains(out, "TERMINATED") {
			return errors.New(out)
		}
		return err
	})
	cl.OK("", "agent", "enable", "a")
}
