package agent

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"slices"

	"github.com/det-deploy/det-deploy/agent/config"
	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/agent/container/docker"
	"github.com/det-deploy/det-deploy/agent/container/process"
	"github.com/det-deploy/det-deploy/agent/task"
)

// closingRuntime is a runtime with a connection to close.
type closingRuntime interface {
	container.Runtime
	// Unlimited returns nil if tasks can have limits of memory and processes, or else the reason.
	Unlimited() error
	Close() error
}

// chooseRuntime returns the runtime that container_runtime selects. With "auto" it returns plain
// processes if Docker is not running.
func chooseRuntime(ctx context.Context, cfg Config, agentID string) (closingRuntime, error) {
	wanted := cfg.Settings.ContainerRuntime
	if wanted == config.RuntimeProcess {
		return plainProcesses(ctx, cfg)
	}
	d, err := docker.New(ctx, docker.Options{
		Host: cfg.DockerHost, Agent: agentID, HostIP: hostIP(ctx, cfg.Settings),
		Network: task.OwnNetwork(cfg.Settings.DockerNetwork), Runtime: ownRuntime(cfg.Settings.DockerRuntime),
		Entered: filepath.Join(cfg.Settings.DataDir, "entered"),
	})
	switch {
	case err == nil:
		if !d.HasInit() {
			cfg.Log.Warn("the Docker Engine has no init program; zombie processes of tasks are not reaped")
		}
		return d, nil
	case wanted == config.RuntimeDocker:
		return nil, err
	default:
		cfg.Log.Info("Docker is not running; tasks run as plain processes", "err", err)
		return plainProcesses(ctx, cfg)
	}
}

// ownRuntime returns the OCI runtime to request, or "" for the engine's default. "runc" counts as
// the default, because nearly every engine has it and many files set it without need.
func ownRuntime(name string) string {
	if name == "runc" {
		return ""
	}
	return name
}

// plain is a runtime of plain processes.
type plain struct{ *process.Runtime }

// Close does nothing: tasks keep running.
func (plain) Close() error { return nil }

func plainProcesses(ctx context.Context, cfg Config) (closingRuntime, error) {
	s := cfg.Settings
	first, last, err := s.TaskUserRange()
	if err != nil {
		return nil, fmt.Errorf("task_users: %w", err)
	}
	if err := process.SweepLent(lentDir); err != nil { // they belong to another agent and only use disk space
		cfg.Log.Warn("cannot remove files of tasks of removed agents", "err", err)
	}
	former := filepath.Join(s.DataDir, "processes")
	err = process.SweepFormer(former, filepath.Join(s.DataDir, "processes-files"), filepath.Join(s.DataDir, "shims"))
	if err != nil {
		cfg.Log.Warn("cannot remove files of removed tasks", "err", err)
	}
	r, err := process.New(ctx, process.Options{
		Dir: filepath.Join(s.DataDir, "tasks"), Former: former,
		HostIP:   hostIP(ctx, s),
		Accounts: process.Accounts{First: first, Last: last, Dir: taskUsersDir},
		Lent:     lentDir,
		Limits:   process.Limits{Processes: s.TaskProcessLimit, Memory: int64(s.TaskMemoryLimit)},
		Hidden: slices.Concat(
			[]string{s.DataDir, s.ConfigFile, s.JoinTokenFile, s.MachineSocket, s.MachineSecretFile, s.Security.TLS.ClientKey, s.TLSKey},
			s.ProtectedPaths, hiddenFromTasks(),
		),
	})
	if err != nil {
		return plain{r}, err
	}
	if why := r.Unlimited(); why != nil && limitsAreSet(s) {
		return plain{r}, fmt.Errorf("task_process_limit and task_memory_limit cannot be enforced on this machine: %w; remove them to run tasks without limits", why)
	}
	return plain{r}, nil
}

// limitsAreSet reports whether the task limits differ from the defaults.
func limitsAreSet(s config.Agent) bool {
	return s.TaskProcessLimit != 0 && s.TaskProcessLimit != config.DefaultTaskProcessLimit || s.TaskMemoryLimit > 0
}

// taskUsersDir records the user of each task, for all agents of the machine.
const taskUsersDir = "/var/lib/det-deploy/task-users"

// lentDir contains the files of tasks that run as other users without isolation, which cannot reach
// the agent's data_dir.
const lentDir = "/var/lib/det-deploy-tasks"

// hiddenFromTasks lists the paths that are hidden from isolated tasks: configurations with keys and
// tokens, the identity proof of the machine, and the sockets of container engines.
func hiddenFromTasks() []string {
	return []string{
		"/etc/determined", "/var/lib/determined-agent", "/var/lib/determined", "/var/lib/det-deploy", "/run/det-deploy",
		"/run/docker.sock", "/run/containerd", "/run/podman", "/run/crio",
		"/run/det-deploy-tasks", "/dev/shm/det-deploy-tasks", // of the previous release
	}
}

// hostIP returns the machine's address on the route to the master. It sends no packets.
func hostIP(ctx context.Context, s config.Agent) string {
	conn, err := (&net.Dialer{}).DialContext(ctx, "udp", masterAddress(s))
	if err != nil {
		return "127.0.0.1"
	}
	defer func() { _ = conn.Close() }()
	if addr, ok := conn.LocalAddr().(*net.UDPAddr); ok {
		return addr.IP.String()
	}
	return "127.0.0.1"
}
