package main

import (
	"encoding/json"
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

// TestDetClient drives every Tier 1 command of the unmodified det client
// against a master and two agents with real Docker.
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
	t.Run("users", func(t *testing.T) { detUsers(t, c) })
	t.Run("commands", func(t *testing.T) { detCommands(t, c, admin.On(t)) })
	t.Run("cluster info", func(t *testing.T) { detInfo(t, c, admin.On(t)) })
	t.Run("bind mounts", func(t *testing.T) { detBindMounts(t, admin.On(t)) })
	t.Run("context", func(t *testing.T) { detContext(t, admin.On(t)) })
	t.Run("queue", func(t *testing.T) { detQueue(t, c, admin.On(t)) })
	t.Run("agents and slots", func(t *testing.T) { detAgents(t, c, admin.On(t)) })
	t.Run("master", func(t *testing.T) { detMaster(t, admin.On(t)) })
}

func detUsers(t *testing.T, c *cluster) {
	admin := dettest.Login(t, c.URL, "admin", password)
	admin.Want([]string{"version"}, "0.38.1")
	admin.Want([]string{"user", "whoami"}, "admin")
	admin.OK("", "user", "create", "ada", "--password", "Lovelace-1815")
	admin.Want([]string{"user", "list"}, "ada", "admin", "determined")
	admin.OK("", "user", "edit", "ada", "--display-name", "Countess", "--admin", "true")
	admin.Want([]string{"user", "list"}, "Countess")
	admin.OK("", "user", "link-with-agent-user", "ada", "--agent-uid", "1234",
		"--agent-user", "ada", "--agent-gid", "1234", "--agent-group", "ada")
	admin.Want([]string{"user", "list"}, "1234")
	admin.OK("", "user", "rename", "ada", "lovelace")
	admin.OK("", "user", "deactivate", "lovelace")
	other := dettest.New(t, c.URL)
	if out, err := other.Exec("Lovelace-1815\n", "user", "login", "lovelace"); err == nil {
		t.Errorf("a deactivated user could log in: %s", out)
	}
	admin.OK("", "user", "activate", "lovelace")
	other.OK("Lovelace-1815\n", "user", "login", "lovelace")
	other.OK("Engine-1843\nEngine-1843\n", "user", "change-password")
	other.Want([]string{"user", "whoami"}, "lovelace")
	other.OK("", "user", "logout")
	if out, err := other.Exec("Lovelace-1815\n", "user", "login", "lovelace"); err == nil {
		t.Errorf("the old password is still good: %s", out)
	}
	other.OK("Engine-1843\n", "user", "login", "lovelace")
	determined := dettest.Login(t, c.URL, "determined", password)
	determined.Refused([]string{"user", "create", "mallory", "--password", "Password-1"}, "Forbidden")
}

var launched = regexp.MustCompile(`\(id: ([0-9a-f-]{36}), name: ([^)]+\))`)

// detach starts a command and returns its id.
func detach(cl *dettest.Client, config []string, argv ...string) string {
	args := append([]string{"command", "run", "--detach"}, config...)
	id := strings.TrimSpace(cl.OK("", append(args, argv...)...))
	if m := launched.FindStringSubmatch(id); m != nil {
		id = m[1]
	}
	return id
}

func detCommands(t *testing.T, c *cluster, cl *dettest.Client) {
	out := cl.Want([]string{"command", "run", "echo", "hello from a container"},
		"Launched command", "hello from a container",
		"resources exited successfully with a zero exit code", "Task log stream ended")
	m := launched.FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("no id in %q", out)
	}
	id := m[1]
	cl.Want([]string{"command", "run", "sh -c 'exit 3'"},
		"crashed: resources failed with non-zero exit code: container failed with non-zero exit code: 3 (exit code 3)")
	cl.Want([]string{"command", "run", "--config", "resources.slots=0", "echo", "no slots"}, "no slots")
	cl.Want([]string{
		"command", "run", "--config", "environment.environment_variables=GREETING=salut,OTHER=1",
		`echo "$GREETING"`,
	}, "salut")
	cl.Want([]string{"command", "list"}, id, "TERMINATED")
	cl.Want([]string{"command", "list", "-a"}, id)
	cl.Want([]string{"command", "describe", id}, "allocation exited successfully")
	cl.Want([]string{"command", "config", id}, "entrypoint")
	cl.Want([]string{"task", "logs", id}, "hello from a container")
	cl.Want([]string{"task", "logs", "--tail", "1", id}, "resources exited successfully")
	cl.Want([]string{"task", "logs", "--head", "1", id}, "Scheduling")
	cl.Want([]string{"command", "logs", id[:8]}, "hello from a container")
	cl.Want([]string{"task", "logs", "--stdtype", "stdout", "--source", "task", id}, "hello from a container")
	cl.Refused([]string{"command", "run", "--config", "resources.slots=99", "true"}, "request unfulfillable")
	cl.Refused([]string{"command", "run", "--config", "resorces.slots=1", "true"}, "resorces")
	cl.Refused([]string{"command", "describe", "00000000-0000-4000-8000-000000000000"}, "not found")
	long := detach(cl, nil, "sleep", "600")
	c.Eventually("the command runs", time.Minute, func() error {
		out, err := cl.Exec("", "command", "describe", long)
		if err == nil && !strings.Contains(out, "RUNNING") {
			return errors.New(out)
		}
		return err
	})
	cl.Want([]string{"task", "list"}, long)
	cl.Want([]string{"slot", "list"}, long)
	cl.OK("", "command", "kill", long)
	c.Eventually("the command ended", time.Minute, func() error {
		out, err := cl.Exec("", "command", "describe", long)
		if err == nil && !strings.Contains(out, "TERMINATED") {
			return errors.New(out)
		}
		return err
	})
	cl.OK("", "command", "kill", long)
}

// detInfo has the client's library read what a task finds of where it runs.
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

// detBindMounts is the check that upstream's own documentation asks for after
// an extra disk was mounted on the agents.
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

// firstMissing is the uppermost folder of path that does not exist.
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
	cl.Want([]string{"command", "run", "--context", dir, "cat", "hello.txt"}, "from the context")
	cl.Want([]string{"command", "run", "--context", dir, "./sub/run.sh && pwd"}, "script ran", "/run/determined/workdir")
}

func detQueue(t *testing.T, c *cluster, cl *dettest.Client) {
	first := detach(cl, []string{"--config", "resources.slots=2"}, "sleep", "600")
	second := detach(cl, []string{"--config", "resources.slots=2"}, "sleep", "600")
	waiting := detach(cl, []string{"--config", "resources.slots=2"}, "sleep", "600")
	out := cl.Want([]string{"job", "list"}, "STATE_QUEUED")
	if err := json.Unmarshal([]byte(cl.OK("", "command", "list", "--json")), &[]any{}); err != nil {
		t.Errorf("command list --json: %v", err)
	}
	jobs := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`).FindAllString(out, -1)
	if len(jobs) == 0 {
		t.Fatalf("no job ids in %q", out)
	}
	last := jobs[len(jobs)-1]
	cl.OK("", "job", "update", last, "--priority", "10")
	cl.Want([]string{"job", "list"}, "10")
	cl.OK("", "job", "update-batch", last+".priority=20")
	cl.Want([]string{"job", "list"}, "20")
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
	cl.Refused([]string{"agent", "disable", "zz"}, "not found")
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

func detMaster(t *testing.T, cl *dettest.Client) {
	cl.Want([]string{"master", "info"}, "0.38.1")
	out := cl.Want([]string{"master", "config", "show"}, "resource_manager")
	if strings.Contains(out, password) {
		t.Errorf("the configuration shows a password: %s", out)
	}
	cl.Want([]string{"master", "logs", "--tail", "2"}, "")
	cl.Want([]string{"workspace", "list"}, "Uncategorized")
	cl.Want([]string{"command", "run", "-w", "Uncategorized", "echo", "in a workspace"}, "in a workspace")
}
