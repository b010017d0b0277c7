package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/test/dettest"
	"github.com/det-deploy/det-deploy/test/dockertest"
)

// detCLI is the unmodified client of upstream, installed by test/setup.
func detCLI(t *testing.T) string {
	t.Helper()
	return filepath.Join(dettest.Home(t), "bin", "det")
}

// client runs det as one user with a home of its own.
type client struct {
	t    *testing.T
	c    *cluster
	det  string
	home string
}

func newClient(t *testing.T, c *cluster, det, user string) *client {
	t.Helper()
	cl := &client{t: t, c: c, det: det, home: t.TempDir()}
	cl.ok(password+"\n", "user", "login", user)
	return cl
}

func (cl *client) exec(stdin string, args ...string) (string, error) {
	cmd := exec.CommandContext(cl.t.Context(), cl.det, args...)
	cmd.Env = append(os.Environ(), "DET_MASTER="+cl.c.URL, "HOME="+cl.home)
	cmd.Stdin = strings.NewReader(stdin)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// ok runs det and wants success.
func (cl *client) ok(stdin string, args ...string) string {
	cl.t.Helper()
	out, err := cl.exec(stdin, args...)
	if err != nil {
		cl.t.Fatalf("det %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// want runs det and looks for words in what it prints.
func (cl *client) want(args []string, words ...string) string {
	cl.t.Helper()
	out := cl.ok("", args...)
	for _, w := range words {
		if !strings.Contains(out, w) {
			cl.t.Errorf("det %s: got %q, want it to contain %q", strings.Join(args, " "), out, w)
		}
	}
	return out
}

// refused runs det and wants a failure that says the words.
func (cl *client) refused(args []string, words ...string) {
	cl.t.Helper()
	out, err := cl.exec("", args...)
	if err == nil {
		cl.t.Errorf("det %s succeeded, want it refused:\n%s", strings.Join(args, " "), out)
	}
	for _, w := range words {
		if !strings.Contains(out, w) {
			cl.t.Errorf("det %s: got %q, want it to contain %q", strings.Join(args, " "), out, w)
		}
	}
}

// TestDetClient drives every Tier 1 command of the unmodified det client
// against a master and two agents with real Docker.
func TestDetClient(t *testing.T) {
	det := detCLI(t)
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
	admin := newClient(t, c, det, "admin")
	c.Eventually("both agents are listed", time.Minute, func() error {
		out, err := admin.exec("", "agent", "list", "--json")
		if err == nil && strings.Count(out, `"registered_time"`)+strings.Count(out, `"registeredTime"`) < 2 {
			return errors.New(out)
		}
		return err
	})
	t.Run("users", func(t *testing.T) { detUsers(t, c, det) })
	t.Run("commands", func(t *testing.T) { detCommands(t, admin.on(t)) })
	t.Run("cluster info", func(t *testing.T) { detInfo(t, admin.on(t)) })
	t.Run("bind mounts", func(t *testing.T) { detBindMounts(t, admin.on(t)) })
	t.Run("context", func(t *testing.T) { detContext(t, admin.on(t)) })
	t.Run("queue", func(t *testing.T) { detQueue(t, admin.on(t)) })
	t.Run("agents and slots", func(t *testing.T) { detAgents(t, admin.on(t)) })
	t.Run("master", func(t *testing.T) { detMaster(t, admin.on(t)) })
}

// on is the same client reporting to a subtest.
func (cl *client) on(t *testing.T) *client {
	other := *cl
	other.t = t
	return &other
}

func detUsers(t *testing.T, c *cluster, det string) {
	admin := newClient(t, c, det, "admin")
	admin.want([]string{"version"}, "0.38.1")
	admin.want([]string{"user", "whoami"}, "admin")
	admin.ok("", "user", "create", "ada", "--password", "Lovelace-1815")
	admin.want([]string{"user", "list"}, "ada", "admin", "determined")
	admin.ok("", "user", "edit", "ada", "--display-name", "Countess", "--admin", "true")
	admin.want([]string{"user", "list"}, "Countess")
	admin.ok("", "user", "link-with-agent-user", "ada", "--agent-uid", "1234",
		"--agent-user", "ada", "--agent-gid", "1234", "--agent-group", "ada")
	admin.want([]string{"user", "list"}, "1234")
	admin.ok("", "user", "rename", "ada", "lovelace")
	admin.ok("", "user", "deactivate", "lovelace")
	other := &client{t: t, c: c, det: det, home: t.TempDir()}
	if out, err := other.exec("Lovelace-1815\n", "user", "login", "lovelace"); err == nil {
		t.Errorf("a deactivated user could log in: %s", out)
	}
	admin.ok("", "user", "activate", "lovelace")
	other.ok("Lovelace-1815\n", "user", "login", "lovelace")
	other.ok("Engine-1843\nEngine-1843\n", "user", "change-password")
	other.want([]string{"user", "whoami"}, "lovelace")
	other.ok("", "user", "logout")
	if out, err := other.exec("Lovelace-1815\n", "user", "login", "lovelace"); err == nil {
		t.Errorf("the old password is still good: %s", out)
	}
	other.ok("Engine-1843\n", "user", "login", "lovelace")
	determined := newClient(t, c, det, "determined")
	determined.refused([]string{"user", "create", "mallory", "--password", "Password-1"}, "Forbidden")
}

var launched = regexp.MustCompile(`\(id: ([0-9a-f-]{36}), name: ([^)]+\))`)

// detach starts a command and returns its id.
func (cl *client) detach(config []string, argv ...string) string {
	cl.t.Helper()
	args := append([]string{"command", "run", "--detach"}, config...)
	id := strings.TrimSpace(cl.ok("", append(args, argv...)...))
	if m := launched.FindStringSubmatch(id); m != nil {
		id = m[1]
	}
	return id
}

func detCommands(t *testing.T, cl *client) {
	out := cl.want([]string{"command", "run", "echo", "hello from a container"},
		"Launched command", "hello from a container",
		"resources exited successfully with a zero exit code", "Task log stream ended")
	m := launched.FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("no id in %q", out)
	}
	id := m[1]
	cl.want([]string{"command", "run", "sh -c 'exit 3'"},
		"crashed: resources failed with non-zero exit code: container failed with non-zero exit code: 3 (exit code 3)")
	cl.want([]string{"command", "run", "--config", "resources.slots=0", "echo", "no slots"}, "no slots")
	cl.want([]string{
		"command", "run", "--config", "environment.environment_variables=GREETING=salut,OTHER=1",
		`echo "$GREETING"`,
	}, "salut")
	cl.want([]string{"command", "list"}, id, "TERMINATED")
	cl.want([]string{"command", "list", "-a"}, id)
	cl.want([]string{"command", "describe", id}, "allocation exited successfully")
	cl.want([]string{"command", "config", id}, "entrypoint")
	cl.want([]string{"task", "logs", id}, "hello from a container")
	cl.want([]string{"task", "logs", "--tail", "1", id}, "resources exited successfully")
	cl.want([]string{"task", "logs", "--head", "1", id}, "Scheduling")
	cl.want([]string{"command", "logs", id[:8]}, "hello from a container")
	cl.want([]string{"task", "logs", "--stdtype", "stdout", "--source", "task", id}, "hello from a container")
	cl.refused([]string{"command", "run", "--config", "resources.slots=99", "true"}, "request unfulfillable")
	cl.refused([]string{"command", "run", "--config", "resorces.slots=1", "true"}, "resorces")
	cl.refused([]string{"command", "describe", "00000000-0000-4000-8000-000000000000"}, "not found")
	long := cl.detach(nil, "sleep", "600")
	cl.c.Eventually("the command runs", time.Minute, func() error {
		out, err := cl.exec("", "command", "describe", long)
		if err == nil && !strings.Contains(out, "RUNNING") {
			return errors.New(out)
		}
		return err
	})
	cl.want([]string{"task", "list"}, long)
	cl.want([]string{"slot", "list"}, long)
	cl.ok("", "command", "kill", long)
	cl.c.Eventually("the command ended", time.Minute, func() error {
		out, err := cl.exec("", "command", "describe", long)
		if err == nil && !strings.Contains(out, "TERMINATED") {
			return errors.New(out)
		}
		return err
	})
	cl.ok("", "command", "kill", long)
}

// detInfo has the client's library read what a task finds of where it runs.
func detInfo(t *testing.T, cl *client) {
	id := cl.detach([]string{"--config", "resources.slots=2"}, "cat "+agentv1.ClusterInfoPath)
	file := filepath.Join(t.TempDir(), "cluster.json")
	cl.c.Eventually("the file is in the log", time.Minute, func() error {
		out, err := cl.exec("", "task", "logs", id)
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
	out, err := exec.CommandContext(t.Context(), filepath.Join(filepath.Dir(cl.det), "python3"), "-c", text).CombinedOutput()
	if want := "COMMAND [0, 1] " + id + " " + id + ".1 True http:// True\n"; err != nil || string(out) != want {
		t.Errorf("got %s, %v, want %s", out, err, want)
	}
}

func TestPlainProcessesKnowWhereTheyRun(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can isolate plain processes")
	}
	det := detCLI(t)
	c := newCluster(t, clusterConfig{Agent: "container_runtime: process\nartificial_slots: 2\n"})
	c.StartMaster()
	c.StartAgent("a")
	admin := newClient(t, c, det, "admin")
	c.Eventually("the agent is listed", time.Minute, func() error {
		out, err := admin.exec("", "slot", "list")
		if err == nil && strings.Count(out, "a ") < 2 {
			err = errors.New(out)
		}
		return err
	})
	detInfo(t, admin)
}

// detBindMounts is the check that upstream's own documentation asks for after
// an extra disk was mounted on the agents.
func detBindMounts(t *testing.T, cl *client) {
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
	cl.want([]string{"command", "run", "--config-file", config, "ls", "-l", "/second"}, "dataset.bin")
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

func detContext(t *testing.T, cl *client) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"hello.txt": "from the context", "sub/run.sh": "#!/bin/sh\necho script ran\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cl.want([]string{"command", "run", "--context", dir, "cat", "hello.txt"}, "from the context")
	cl.want([]string{"command", "run", "--context", dir, "./sub/run.sh && pwd"}, "script ran", "/run/determined/workdir")
}

func detQueue(t *testing.T, cl *client) {
	first := cl.detach([]string{"--config", "resources.slots=2"}, "sleep", "600")
	second := cl.detach([]string{"--config", "resources.slots=2"}, "sleep", "600")
	waiting := cl.detach([]string{"--config", "resources.slots=2"}, "sleep", "600")
	out := cl.want([]string{"job", "list"}, "STATE_QUEUED")
	if err := json.Unmarshal([]byte(cl.ok("", "command", "list", "--json")), &[]any{}); err != nil {
		t.Errorf("command list --json: %v", err)
	}
	jobs := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`).FindAllString(out, -1)
	if len(jobs) == 0 {
		t.Fatalf("no job ids in %q", out)
	}
	last := jobs[len(jobs)-1]
	cl.ok("", "job", "update", last, "--priority", "10")
	cl.want([]string{"job", "list"}, "10")
	cl.ok("", "job", "update-batch", last+".priority=20")
	cl.want([]string{"job", "list"}, "20")
	cl.ok("", "command", "set", "priority", waiting, "30")
	cl.want([]string{"job", "list"}, "30")
	cl.ok("", "command", "kill", first)
	cl.c.Eventually("the waiting command runs once another is gone", time.Minute, func() error {
		out, err := cl.exec("", "command", "describe", waiting)
		if err == nil && !strings.Contains(out, "RUNNING") {
			return errors.New(out)
		}
		return err
	})
	cl.ok("", "command", "kill", second)
	cl.ok("", "command", "kill", waiting)
}

func detAgents(t *testing.T, cl *client) {
	cl.want([]string{"agent", "list"}, "a", "b", "default")
	cl.ok("", "agent", "disable", "b")
	cl.refused([]string{"agent", "disable", "zz"}, "not found")
	id := cl.detach([]string{"--config", "resources.slots=2"}, "sleep", "600")
	cl.c.Eventually("it runs on the enabled agent", time.Minute, func() error {
		out, err := cl.exec("", "command", "describe", id)
		if err == nil && !strings.Contains(out, "RUNNING") {
			return errors.New(out)
		}
		return err
	})
	cl.want([]string{"agent", "disable", "a", "--drain"}, id)
	cl.want([]string{"command", "describe", id}, "RUNNING")
	cl.ok("", "agent", "enable", "--all")
	cl.ok("", "slot", "disable", "b", "0")
	cl.want([]string{"slot", "list"}, "False")
	cl.ok("", "slot", "enable", "b", "0")
	cl.ok("", "agent", "disable", "a")
	cl.c.Eventually("a plain disable ends what ran there", time.Minute, func() error {
		out, err := cl.exec("", "command", "describe", id)
		if err == nil && !strings.Contains(out, "TERMINATED") {
			return errors.New(out)
		}
		return err
	})
	cl.ok("", "agent", "enable", "a")
}

func detMaster(t *testing.T, cl *client) {
	cl.want([]string{"master", "info"}, "0.38.1")
	out := cl.want([]string{"master", "config", "show"}, "resource_manager")
	if strings.Contains(out, password) {
		t.Errorf("the configuration shows a password: %s", out)
	}
	cl.want([]string{"master", "logs", "--tail", "2"}, "")
	cl.want([]string{"workspace", "list"}, "Uncategorized")
	cl.want([]string{"command", "run", "-w", "Uncategorized", "echo", "in a workspace"}, "in a workspace")
}
