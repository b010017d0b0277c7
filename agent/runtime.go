package agent

import (
	"context"
	"net"
	"path/filepath"

	"github.com/det-deploy/det-deploy/agent/config"
	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/agent/container/docker"
	"github.com/det-deploy/det-deploy/agent/container/process"
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
		Network: ownNetwork(cfg.Settings.DockerNetwork), Runtime: ownRuntime(cfg.Settings.DockerRuntime),
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

// ownNetwork is empty where the engine's own will do.
func ownNetwork(name string) string {
	if name == "default" || name == "bridge" {
		return ""
	}
	return name
}

// ownRuntime is empty where the engine's own will do. runc is what nearly every
// engine has, and what files name that were written for no other.
func ownRuntime(name string) string {
	if name == "runc" {
		return ""
	}
	return name
}

// plain is a runtime without a connection.
type plain struct{ *process.Runtime }

// Close has nothing to do.
func (plain) Close() error { return nil }

func plainProcesses(ctx context.Context, cfg Config) (closingRuntime, error) {
	r, err := process.New(process.Options{
		Dir: filepath.Join(cfg.Settings.DataDir, "processes"), HostIP: hostIP(ctx, cfg.Settings),
	})
	return plain{r}, err
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
