package master_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/agent"
	agentconfig "github.com/det-deploy/det-deploy/agent/config"
	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/master"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/auth"
	"github.com/det-deploy/det-deploy/master/config"
)

const password = "Initial-1234"

// newParts returns the parts of a master on a free port, without a cloud.
func newParts(t *testing.T) master.Parts {
	t.Helper()
	cfg, _, err := config.Load(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address, _ := l.Addr().(*net.TCPAddr)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	cfg.DataDir, cfg.BindIP, cfg.Port, cfg.Security.TrustUsers = t.TempDir(), "127.0.0.1", address.Port, true
	cfg.Security.InitialUserPassword = secret.Literal(password)
	return master.Parts{Config: cfg, Version: "1.2.3", Log: slog.NewTextHandler(t.Output(), nil)}
}

// start runs a function until the test ends or stop is called.
func start(t *testing.T, name string, run func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("the %s ended with %v", name, err)
			}
		case <-time.After(time.Minute):
			t.Errorf("the %s does not end", name)
		}
	}
	t.Cleanup(stop)
	return stop
}

// startMaster assembles a master and runs it.
func startMaster(t *testing.T, p master.Parts) (address *net.TCPAddr, stop func()) {
	t.Helper()
	m, err := master.New(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	halt := start(t, "master", m.Run)
	closed := false
	stop = func() {
		halt()
		if closed {
			return
		}
		closed = true
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	address, _ = m.Addr().(*net.TCPAddr)
	return address, stop
}

// startAgent runs an agent that runs tasks as processes.
func startAgent(t *testing.T, p master.Parts, at *net.TCPAddr) {
	t.Helper()
	token, _, err := master.JoinToken(t.Context(), p, auth.NewJoin{Pool: p.Config.ResourcePools[0].Name, Life: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	s := agentconfig.DefaultAgent()
	s.MasterHost, s.MasterPort = at.IP.String(), at.Port
	s.AgentID, s.DataDir, s.JoinTokenFile = "a1", t.TempDir(), file
	s.ArtificialSlots, s.ContainerRuntime, s.TrustUsers = 2, agentconfig.RuntimeProcess, true
	start(t, "agent", func(ctx context.Context) error {
		return agent.Run(ctx, agent.Config{Settings: s, Version: "1.2.3", Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	})
}

// login returns a client of the user admin.
func login(t *testing.T, at *net.TCPAddr) *client.Client {
	t.Helper()
	url := "http://" + at.String()
	anybody, err := client.New(client.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer anybody.Close()
	in, err := anybody.Login(t.Context(), "admin", password)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(client.Config{URL: url, Token: in.GetToken()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// awaitAgent waits until an agent has joined.
func awaitAgent(t *testing.T, c *client.Client) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		all, err := c.Agents(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(all) > 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the agent does not join")
		}
		<-time.After(20 * time.Millisecond)
	}
}

// A master works without the commands: assembled from its parts, with a store and an agent, it runs
// a task that is submitted over HTTP, and stores it.
func TestMasterRunsATask(t *testing.T) {
	t.Parallel()
	p := newParts(t)
	address, stop := startMaster(t, p)
	startAgent(t, p, address)
	c := login(t, address)
	awaitAgent(t, c)
	cfg, err := structpb.NewStruct(map[string]any{
		"entrypoint": []any{"sh", "-c", "echo from a task; exit 3"}, "resources": map[string]any{"slots": 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	launched, err := c.Launch(ctx, &apiv1.LaunchCommandRequest{Config: cfg})
	if err != nil {
		t.Fatal(err)
	}
	id := launched.GetCommand().GetId()
	var log strings.Builder
	for line, err := range c.Logs(ctx, id, client.LogQuery{Follow: true}) {
		if err != nil {
			t.Fatal(err)
		}
		log.WriteString(line.GetLog())
	}
	if !strings.Contains(log.String(), "from a task\n") {
		t.Errorf("got log %q, want the line of the task", log.String())
	}
	stop()

	again, _ := startMaster(t, p)
	got, err := login(t, again).Command(t.Context(), id)
	if err != nil || got.GetCommand().GetState() != apiv1.Task_STATE_TERMINATED || got.GetCommand().GetExitCode() != 3 {
		t.Errorf("after a restart: got %v and %v, want it ended with code 3", got.GetCommand(), err)
	}
}

// The rehearsal of an upgrade works while a master runs.
func TestRehearsalDuringMasterRun(t *testing.T) {
	t.Parallel()
	p := newParts(t)
	startMaster(t, p)
	p.Config.BindIP = "" // it does not listen, so that the port needs no encryption
	r, err := master.Rehearse(t.Context(), p)
	if err != nil || r.SchemaTo == 0 || r.SchemaTo != r.SchemaFrom {
		t.Errorf("got %+v and %v, want a rehearsal on the same schema", r, err)
	}
}

// A master that is stopped during its start returns nil, as it does later.
func TestRunReturnsNilIfStoppedDuringStart(t *testing.T) {
	t.Parallel()
	m, err := master.New(t.Context(), newParts(t))
	if err != nil {
		t.Fatal(err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := errors.Join(m.Run(stopped), m.Close()); err != nil {
		t.Errorf("got %v, want no error", err)
	}
}
