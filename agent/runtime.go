package agent

import (
	"context"
	"errors"
	"net"
	"path/filepath"

	"github.com/det-deploy/det-deploy/agent/config"
	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/agent/container/process"
)

// chooseRuntime makes what container_runtime asks for.
func chooseRuntime(ctx context.Context, cfg Config, _ string) (r container.Runtime, err error) {
	if cfg.Settings.ContainerRuntime == config.RuntimeDocker {
		return nil, errors.New("container_runtime docker is not built yet; use process")
	}
	return process.New(process.Options{
		Dir: filepath.Join(cfg.Settings.DataDir, "processes"), HostIP: hostIP(ctx, cfg.Settings),
	})
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
