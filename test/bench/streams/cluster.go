package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/det-deploy/det-deploy/agent/link"
	"github.com/det-deploy/det-deploy/agent/streams"
	"github.com/det-deploy/det-deploy/internal/stream"
	"github.com/det-deploy/det-deploy/internal/stream/frames"
	"github.com/det-deploy/det-deploy/internal/wait"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/test/bench/master"
)

// cluster is a master with one agent of this process, on which a task runs.
type cluster struct {
	*master.Master
	task    string
	cancel  context.CancelFunc
	serving sync.WaitGroup
}

func startCluster(ctx context.Context, bin string) (*cluster, error) {
	m, err := master.Start(ctx, bin, "")
	if err != nil {
		return nil, err
	}
	c := &cluster{Master: m}
	ctx, c.cancel = context.WithCancel(ctx)
	if err := c.startTask(ctx); err != nil {
		return nil, errors.Join(err, c.stop())
	}
	return c, nil
}

func (c *cluster) stop() error {
	c.cancel()
	c.serving.Wait()
	return c.Stop()
}

func (c *cluster) startTask(ctx context.Context) error {
	token, err := c.API.CreateJoinToken(ctx, &apiv1.CreateJoinTokenRequest{ResourcePool: "default", ValidForSeconds: 3600})
	if err != nil {
		return err
	}
	join := filepath.Join(c.Dir, "join")
	if err := os.WriteFile(join, []byte(token.GetToken()), 0o600); err != nil {
		return err
	}
	a := &agent{ctx: ctx, joined: make(chan struct{})}
	c.serving.Go(func() {
		_ = link.Run(ctx, link.Config{ // without it the task does not run
			URL: strings.Replace(c.URL(), "http", "ws", 1) + "/agents", CredentialFile: filepath.Join(c.Dir, "credential"),
			JoinTokenFile: join, Log: slog.New(slog.DiscardHandler),
		}, a)
	})
	select {
	case <-a.joined:
	case <-ctx.Done():
		return ctx.Err()
	}
	var made struct{ Command struct{ ID string } }
	body := map[string]any{"config": map[string]any{"entrypoint": []string{"true"}, "resources": map[string]any{"slots": 1}}}
	if err := c.Ask(ctx, http.MethodPost, "commands", body, &made); err != nil {
		return err
	}
	c.task = made.Command.ID
	return c.awaitTask(ctx)
}

func (c *cluster) awaitTask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		var now struct{ Command struct{ State string } }
		if err := c.Ask(ctx, http.MethodGet, "commands/"+c.task, nil, &now); err != nil {
			return err
		}
		if now.Command.State == "STATE_RUNNING" {
			return nil
		}
		if err := wait.For(ctx, 20*time.Millisecond); err != nil {
			return fmt.Errorf("the task does not run: %w", err)
		}
	}
}

// dial opens a stream as a client does.
func (c *cluster) dial(ctx context.Context, port int) (net.Conn, error) {
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	url := fmt.Sprintf("%s/api/v1/tasks/%s/port?port=%d", c.URL(), c.task, port)
	//nolint:bodyclose // the library closes the body, or replaces it by one in memory
	ws, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: transport}, HTTPHeader: http.Header{"Authorization": {"Bearer " + c.Token}},
	})
	if err != nil {
		return nil, err
	}
	return frames.NewConn(ctx, ws), nil
}

// agent says that its task runs, and serves streams to this machine.
type agent struct {
	ctx context.Context //nolint:containedctx // streams outlive the link
	// joined is closed when it has joined.
	joined chan struct{}
}

// Hello implements link.Peer.
func (*agent) Hello() *agentv1.Hello {
	return &agentv1.Hello{AgentId: "a", Hostname: "a", Streams: true, Devices: []*apiv1.Device{{Brand: "fake", Type: apiv1.Device_TYPE_CPU}}}
}

// Serve implements link.Peer.
func (a *agent) Serve(ctx context.Context, c *link.Conn, _ *agentv1.Welcome) error {
	close(a.joined)
	for {
		m, err := c.Receive(ctx)
		if err != nil {
			return err
		}
		switch {
		case m.GetStart() != nil:
			err = c.Send(ctx, &agentv1.AgentMessage{Body: &agentv1.AgentMessage_Change{Change: &agentv1.Change{
				ContainerId: m.GetStart().GetContainerId(), AllocationId: m.GetStart().GetAllocationId(), State: apiv1.Container_STATE_RUNNING, AtUs: 1,
			}}})
		case m.GetOpenStream() != nil:
			o := m.GetOpenStream()
			go func() {
				if err := streams.Serve(a.ctx, here{}, o, c.DialStream); err != nil { //nolint:contextcheck // see ctx
					_ = c.Send(ctx, streams.FailureOf(o, err)) // the master waits in vain
				}
			}()
		}
		if err != nil {
			return err
		}
	}
}

// here is the entrance to this machine in place of a container.
type here struct{}

var errOnlyPorts = errors.New("only ports are measured")

// Dial implements container.Entrance, as do the other methods.
func (here) Dial(ctx context.Context, _ string, port int) (net.Conn, error) { return direct(ctx, port) }

// Exec implements container.Entrance.
func (here) Exec(context.Context, string, stream.Program) (stream.Process, error) {
	return nil, errOnlyPorts
}

// ReadFiles implements container.Entrance.
func (here) ReadFiles(context.Context, string, string) (io.ReadCloser, error) {
	return nil, errOnlyPorts
}

// WriteFiles implements container.Entrance.
func (here) WriteFiles(context.Context, string, string, io.Reader) error { return errOnlyPorts }
