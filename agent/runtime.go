package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"

	"github.com/det-deploy/det-deploy/agent/config"
	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/agent/container/docker"
	"github.com/det-deploy/det-deploy/agent/container/process"
	"github.com/det-deploy/det-deploy/agent/task"
)

// closingRuntime is a runtime that holds a connection.
type closingRuntime interface {
	container.Runtime
	Close() error
}

// chooseRuntime makes what container_runtime asks for.
func chooseRuntime(ctx context.Context, cfg Config, agentID string) (closingRuntime, error) {
	wanted := cfg.Settings.ContainerRuntime
	if wanted == config.RuntimeProcess {
		return plainProcesses(ctx, cfg)
	}
	d, err := docker.New(ctx, docker.Options{
		Host: cfg.DockerHost, Agent: agentID, HostIP: hostIP(ctx, cfg.Settings),
		Network: task.OwnNetwork(cfg.Settings.DockerNetwork), Runtime: ownRuntime(cfg.Settings.DockerRuntime),
	})
	switch {
	case err == nil:
		if !d.HasInit() {
			cfg.Log.Warn("the docker engine has no init program; tasks must reap their own children")
		}
		return d, nil
	case wanted == config.RuntimeDocker:
		return nil, err
	default:
		cfg.Log.Info("no docker engine answers; tasks run as plain processes", "err", err)
		return plainProcesses(ctx, cfg)
	}
}

// ownRuntime is empty where the engine's own will do. runc is what nearly every
// engine has, and what files name that were written for no other.
func ownRuntime(name string) string {
	if name == "runc" {
		return ""
	}
	return name
}

// plain is a runtime of plain processes.
type plain struct{ *process.Runtime }

// Close leaves what starts tasks to them.
func (p plain) Close() error {
	p.Runtime.Close()
	return nil
}

func plainProcesses(ctx context.Context, cfg Config) (closingRuntime, error) {
	s := cfg.Settings
	first, last, err := s.TaskUserRange()
	if err != nil {
		return nil, fmt.Errorf("task_users: %w", err)
	}
	if err := process.SweepLent(lentDir); err != nil { // it is another agent's, and only takes room
		cfg.Log.Warn("files of tasks whose agent is gone are left", "err", err)
	}
	r, err := process.New(process.Options{
		Dir: filepath.Join(s.DataDir, "processes"), Memory: process.MemoryDir(), Files: filepath.Join(s.DataDir, "processes-files"),
		HostIP:   hostIP(ctx, s),
		Accounts: process.Accounts{First: first, Last: last, Dir: taskUsersDir},
		Lent:     lentDir,
		Shim:     process.Shim{Dir: filepath.Join(s.DataDir, "shims"), Command: cfg.Shim, Log: cfg.Log},
		Hidden: slices.Concat(
			[]string{s.DataDir, process.MemoryDir(), s.ConfigFile, s.JoinTokenFile, s.MachineSocket, s.MachineSecretFile, s.Security.TLS.ClientKey, s.TLSKey},
			s.ProtectedPaths, hiddenFromTasks(),
		),
	})
	if err != nil {
		return plain{r}, err
	}
	// What an earlier version kept for its next tasks.
	if err := errors.Join(r.Left(), os.RemoveAll(filepath.Join(s.DataDir, "processes-spare"))); err != nil {
		cfg.Log.Warn("files of tasks that are gone are left", "err", err)
	}
	return plain{r}, nil
}

// taskUsersDir says which task has which user, for all agents of this machine.
const taskUsersDir = "/var/lib/det-deploy/task-users"

// lentDir has the files of tasks that run as other users and without isolation, where
// these cannot reach the agent's data_dir.
const lentDir = "/var/lib/det-deploy-tasks"

// hiddenFromTasks is what no task may see on this machine, wherever it is isolated:
// configurations with keys and tokens, what proves which machine this is, and the
// sockets of those who run containers.
func hiddenFromTasks() []string {
	return []string{
		"/etc/determined", "/var/lib/determined-agent", "/var/lib/determined", "/var/lib/det-deploy", "/run/det-deploy",
		"/run/docker.sock", "/run/containerd", "/run/podman", "/run/crio",
	}
}

// hostIP is this machine's address on the way to the master. Nothing is sent.
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
