package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/det-deploy/det-deploy/agent/link"
	"github.com/det-deploy/det-deploy/internal/wait"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// slots is the number of devices of an agent.
const slots = 8

// backoff is the default of an agent.
const backoff = 5 * time.Second

// agents holds the agents of one measurement and their shared state.
type agents struct {
	dir       string
	url       string
	version   string // the master's, so that no agent updates itself
	tls       *tls.Config
	connected atomic.Int64
	// welcomed counts Welcome messages, to distinguish a restarted master from the one before.
	welcomed atomic.Int64
	running  sync.WaitGroup
	failed   chan error
}

// newAgents keeps the agents' credentials in memory if /dev/shm exists: the cost of a disk belongs
// to the machine of an agent, not to the master.
func newAgents(url, version string, authority []byte) (*agents, error) {
	parent := "/dev/shm"
	if _, err := os.Stat(parent); err != nil {
		parent = ""
	}
	dir, err := os.MkdirTemp(parent, "det-deploy-bench-agents-")
	if err != nil {
		return nil, err
	}
	a := &agents{dir: dir, version: version, url: strings.Replace(url, "http", "ws", 1) + "/agents", failed: make(chan error, 1)}
	if authority != nil {
		a.tls = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool()}
		a.tls.RootCAs.AppendCertsFromPEM(authority)
	}
	return a, nil
}

// start connects n agents that join with the same token.
func (a *agents) start(ctx context.Context, n int, token string) error {
	join := filepath.Join(a.dir, "token")
	if err := os.WriteFile(join, []byte(token), 0o600); err != nil {
		return err
	}
	for i := range n {
		p := &peer{agents: a, id: fmt.Sprintf("agent-%05d", i)}
		if err := os.Mkdir(filepath.Join(a.dir, p.id), 0o700); err != nil {
			return err
		}
		a.running.Go(func() {
			err := link.Run(ctx, link.Config{
				URL: a.url, TLS: a.tls, CredentialFile: filepath.Join(a.dir, p.id, "credential"), JoinTokenFile: join,
				Backoff: backoff, Log: slog.New(slog.DiscardHandler),
			}, p)
			if err != nil {
				select {
				case a.failed <- fmt.Errorf("%s: %w", p.id, err):
				default:
				}
			}
		})
	}
	return nil
}

// await waits until n agents are connected and at least the given number of Welcome messages
// arrived. It returns an error after limit.
func (a *agents) await(ctx context.Context, n, welcomes int64, limit time.Duration) error {
	for began := time.Now(); ; _ = wait.For(ctx, 2*time.Millisecond) {
		switch {
		case a.connected.Load() == n && a.welcomed.Load() >= welcomes:
			return nil
		case time.Since(began) > limit:
			return fmt.Errorf("only %d are connected after %v", a.connected.Load(), limit)
		}
		select {
		case err := <-a.failed:
			return err
		case <-ctx.Done():
			return ctx.Err()
		default:
		}
	}
}

// peer is one agent.
type peer struct {
	*agents
	id string
}

// Hello returns the message of a machine with idle GPUs.
func (p *peer) Hello() *agentv1.Hello {
	h := &agentv1.Hello{AgentId: p.id, Version: p.version, Hostname: p.id}
	for i := range int32(slots) {
		h.Devices = append(h.Devices, &apiv1.Device{
			Id: i, Brand: "NVIDIA A100-SXM4-80GB", Uuid: fmt.Sprintf("GPU-%s-%d", p.id, i), Type: apiv1.Device_TYPE_CUDA,
		})
	}
	return h
}

// Serve discards the master's messages: an agent without tasks acts on none of them.
func (p *peer) Serve(ctx context.Context, c *link.Conn, _ *agentv1.Welcome) error {
	p.connected.Add(1)
	defer p.connected.Add(-1)
	p.welcomed.Add(1)
	for {
		if _, err := c.Receive(ctx); err != nil {
			return err
		}
	}
}
