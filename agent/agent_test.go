package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/det-deploy/det-deploy/agent/config"
	"github.com/det-deploy/det-deploy/agent/container/process"
	"github.com/det-deploy/det-deploy/agent/disk"
	"github.com/det-deploy/det-deploy/agent/link"
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/test/dockertest"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(victimDir); dir != "" {
		os.Exit(beVictim(dir)) //nolint:forbidigo // the main of another program
	}
	if len(os.Args) > 2 && os.Args[1] == keeperCommand {
		os.Exit(beFormerKeeper(os.Args[2])) //nolint:forbidigo // the main of another program
	}
	goleak.VerifyTestMain(m)
}

func settings(t testing.TB, p *peer) config.Agent {
	t.Helper()
	s := config.DefaultAgent()
	s.MasterHost, s.MasterPort = p.address()
	s.AgentID, s.DataDir = "me", t.TempDir()
	s.ArtificialSlots, s.ContainerRuntime, s.TrustUsers = 2, config.RuntimeProcess, true
	s.AgentReconnectBackoff = document.Seconds(20 * time.Millisecond)
	return s
}

// running is an agent in this process.
type running struct {
	t    testing.TB
	stop context.CancelFunc
	done chan error
}

func run(t testing.TB, s config.Agent) *running {
	t.Helper()
	return runConfig(t, Config{Settings: s, Version: "test", Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
}

func runConfig(t testing.TB, c Config) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{t: t, stop: cancel, done: make(chan error, 1)}
	go func() { r.done <- Run(ctx, c) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-r.done:
			if err != nil {
				t.Logf("the agent ended with %v", err)
			}
		case <-time.After(20 * time.Second):
			t.Error("the agent does not stop")
		}
	})
	return r
}

// wait returns the error with which the agent stopped.
func (r *running) wait() error {
	r.t.Helper()
	select {
	case err := <-r.done:
		r.done <- err
		return err
	case <-time.After(20 * time.Second):
		r.t.Fatal("the agent does not end")
		return nil
	}
}

func (r *running) halt() {
	r.t.Helper()
	r.stop()
	if err := r.wait(); err != nil {
		r.t.Fatalf("the agent ends with %v", err)
	}
}

func TestTaskLifecycle(t *testing.T) {
	t.Parallel()
	for _, older := range []bool{false, true} {
		t.Run(fmt.Sprintf("older master=%v", older), func(t *testing.T) {
			t.Parallel()
			fromOrderToEnd(t, older)
		})
	}
}

func fromOrderToEnd(t *testing.T, older bool) {
	p := newPeer(t)
	p.older = older
	s := settings(t, p)
	run(t, s)
	p.start("c", `echo "$DET_CONTAINER_ID $DET_SLOT_IDS $MINE"; echo oops >&2; exit 3`, func(o *agentv1.Start) {
		o.DeviceIds = []int32{0, 1}
		o.Spec.Environment = []string{"MINE=yes"}
		o.Spec.Ports = []*agentv1.Port{{Name: "web", Port: 8888}}
	})
	c := p.awaitEnd("c")
	if got := c.texts(); len(got) != 2 || !slices.Contains(got, "c [0,1] yes") || !slices.Contains(got, "oops") {
		t.Errorf("got lines %q", got)
	}
	if c.exit.GetKind() != agentv1.Exit_KIND_EXITED || c.exit.GetCode() != 3 || c.ends != 1 || c.received > 1 || older && c.received == 0 {
		t.Errorf("got %v, %d times, received %d times", c.exit, c.ends, c.received)
	}
	awaitEmpty(t, s.DataDir)
	h := p.hellos[0]
	if h.GetAgentId() != "me" || len(h.GetDevices()) != 2 || h.GetVersion() != "test" || h.GetProtocol() != agentv1.Protocol {
		t.Errorf("got hello %v", h)
	}
}

// awaitEmpty waits until all files and orders of containers are removed.
func awaitEmpty(t testing.TB, dataDir string) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; {
		left, _ := filepath.Glob(filepath.Join(dataDir, "*", "*"))
		orders, err := disk.Count(dataDir)
		if len(left) == 0 && orders == 0 && err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("in two minutes %d orders, %v and these did not go: %q", orders, err, left)
		}
		<-time.After(5 * time.Millisecond)
	}
}

func TestSignals(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	run(t, settings(t, p))
	const stubborn = `trap "" TERM; echo ready; while :; do sleep 0.05; done`
	for _, tc := range []struct {
		id, script string
		kind       agentv1.Signal_Kind
		grace      time.Duration
		code       int32
	}{
		{"killed", "echo ready; sleep 600", agentv1.Signal_KIND_KILL, 0, 137},
		{"terminated", "echo ready; exec sleep 600", agentv1.Signal_KIND_TERMINATE, 0, 143},
		{"stubborn", stubborn, agentv1.Signal_KIND_TERMINATE, 100 * time.Millisecond, 137},
		{"polite", `trap "exit 4" TERM; echo ready; while :; do sleep 0.05; done`, agentv1.Signal_KIND_TERMINATE, time.Hour, 4},
	} {
		p.start(tc.id, tc.script)
		c := p.containers[tc.id]
		p.await(tc.id+" is ready", func() bool { return len(c.lines) == 1 })
		p.signal(tc.id, tc.kind, tc.grace)
		p.awaitEnd(tc.id)
		if c.exit.GetKind() != agentv1.Exit_KIND_EXITED || c.exit.GetCode() != tc.code {
			t.Errorf("%s: got %v, want code %d", tc.id, c.exit, tc.code)
		}
	}
}

func TestStartErrorsHaveReasons(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	run(t, settings(t, p))
	for id, tc := range map[string]struct {
		change func(*agentv1.Start)
		want   string
	}{
		"slot":  {func(o *agentv1.Start) { o.DeviceIds = []int32{7} }, "no slot 7"},
		"mount": {func(o *agentv1.Start) { o.Spec.Mounts = []*agentv1.Mount{{HostPath: "/no/such", ContainerPath: "/x"}} }, "bind mount /x"},
		"file":  {func(o *agentv1.Start) { o.Spec.Files = []*apiv1.File{{Path: "/x", Type: '3'}} }, "only files"},
		"path":  {func(o *agentv1.Start) { o.Spec.Files = []*apiv1.File{{Path: "x"}} }, "absolute"},
		"token": {func(o *agentv1.Start) { o.Spec.Context, o.Spec.SessionToken = true, "wrong" }, "401"},
	} {
		p.start(id, "exit 0", tc.change)
		c := p.awaitEnd(id)
		if c.exit.GetKind() != agentv1.Exit_KIND_NOT_STARTED || !strings.Contains(c.exit.GetMessage(), tc.want) {
			t.Errorf("%s: got %v, want not started with %q", id, c.exit, tc.want)
		}
	}
	p.mu.Lock()
	p.containers["../evil"] = &told{start: &agentv1.Start{ContainerId: "../evil", AllocationId: "a"}}
	p.mu.Unlock()
	p.send(startMessage(p.containers["../evil"].start))
	if c := p.awaitEnd("../evil"); c.exit.GetKind() != agentv1.Exit_KIND_NOT_STARTED {
		t.Errorf("got %v for an id with slashes", c.exit)
	}
	// The order was not stored, so the agent does not report it.
	p.mu.Lock()
	delete(p.containers, "../evil")
	p.mu.Unlock()
}

func TestAHookRunsBeforeTheProgram(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	run(t, settings(t, p))
	hook := func(text string) func(*agentv1.Start) {
		return func(o *agentv1.Start) { o.Spec.StartupHook = text }
	}
	p.start("good", `echo "$SET"`, hook("echo hook\nexport SET=by-hook\n"))
	if got := p.awaitEnd("good").texts(); !slices.Equal(got, []string{"hook", "by-hook"}) {
		t.Errorf("got %q", got)
	}
	p.start("bad", "echo never", hook("return 9\n"))
	if c := p.awaitEnd("bad"); c.exit.GetCode() != 9 || len(c.lines) != 0 {
		t.Errorf("got %v, %q, want the hook's code alone", c.exit, c.texts())
	}
	p.start("half", "echo never", hook("sh -c 'exit 3'\necho on\n"))
	if c := p.awaitEnd("half"); c.exit.GetCode() != 3 || len(c.lines) != 0 {
		t.Errorf("got %v, %q, want the end at the first command that fails", c.exit, c.texts())
	}
}

// Without acknowledgements, a reconnecting agent resends everything.
func TestStateIsReportedAgainAfterReconnect(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	run(t, settings(t, p))
	p.await("the agent is there", func() bool { return len(p.hellos) == 1 })
	p.mu.Lock()
	p.mute = true
	p.mu.Unlock()
	p.start("c", "seq 1 1000; exit 5")
	c := p.containers["c"]
	p.await("all lines came", func() bool { return len(c.lines) == 1000 })
	if c.exit != nil {
		t.Errorf("the end came before the lines were acknowledged")
	}
	p.mu.Lock()
	p.mute = false
	c.lines = c.lines[:400] // the store lost the unacknowledged lines
	p.mu.Unlock()
	p.disconnect()
	p.awaitEnd("c")
	if c.exit.GetCode() != 5 || len(c.lines) != 1000 || c.texts()[999] != "1000" {
		t.Errorf("got %v and %d lines", c.exit, len(c.lines))
	}
}

// A stopped agent leaves its tasks running and the next one takes them over.
func TestAStoppedAgentLeavesItsTasks(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	s := settings(t, p)
	first := run(t, s)
	p.start("c", "echo one; while [ ! -e go ]; do sleep 0.02; done; echo two; exit 6")
	p.awaitState("c", apiv1.Container_STATE_RUNNING)
	first.halt()
	// A task sees its own files, but not those of this test.
	file := filepath.Join(s.DataDir, "tasks", "c", "root", "run", "determined", "workdir", "go")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, s)
	c := p.awaitEnd("c")
	if !slices.Equal(c.texts(), []string{"one", "two"}) || c.exit.GetCode() != 6 {
		t.Errorf("got %q, %v", c.texts(), c.exit)
	}
	if h := p.hellos[1]; h.GetCredential() != "paper" || len(h.GetContainers()) != 1 {
		t.Errorf("got hello %v", h)
	}
}

func TestUnknownContainersAreRemoved(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	s := settings(t, p)
	run(t, s)
	p.start("c", "sleep 600")
	p.awaitState("c", apiv1.Container_STATE_RUNNING)
	p.mu.Lock()
	p.containers = map[string]*told{}
	p.mu.Unlock()
	p.disconnect()
	awaitEmpty(t, s.DataDir)
}

func TestVanishedTaskIsLost(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	s := settings(t, p)
	first := run(t, s)
	p.start("c", "sleep 600")
	p.awaitState("c", apiv1.Container_STATE_RUNNING)
	first.halt()
	// The machine lost power, and the process directory with it.
	processes, err := process.New(t.Context(), process.Options{Dir: filepath.Join(s.DataDir, "tasks")})
	if err != nil {
		t.Fatal(err)
	}
	if err := processes.Remove(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	run(t, s)
	if c := p.awaitEnd("c"); c.exit.GetKind() != agentv1.Exit_KIND_LOST {
		t.Errorf("got %v, want lost", c.exit)
	}
}

func TestMasterAsksAgentToShutDown(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	s := settings(t, p)
	r := run(t, s)
	p.start("c", "exec sleep 600")
	p.awaitState("c", apiv1.Container_STATE_RUNNING)
	p.send(&agentv1.MasterMessage{Body: &agentv1.MasterMessage_Shutdown{Shutdown: &agentv1.Shutdown{Reason: "idle"}}})
	if err := r.wait(); err != nil {
		t.Errorf("got %v, want a planned end", err)
	}
	if c := p.containers["c"]; c.exit.GetCode() != 143 {
		t.Errorf("got %v", c.exit)
	}
	awaitEmpty(t, s.DataDir)
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	p.refuse = func(h *agentv1.Hello) *agentv1.Refusal {
		return &agentv1.Refusal{Reason: "no such pool", Final: true}
	}
	err := run(t, settings(t, p)).wait()
	if refused, ok := errors.AsType[*link.RefusedError](err); !ok || refused.Reason != "no such pool" {
		t.Errorf("got %v, want the master's reason", err)
	}
}

func TestJoining(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	s := settings(t, p)
	s.JoinTokenFile = filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(s.JoinTokenFile, []byte("join\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	first := run(t, s)
	p.await("it joins and keeps its credential", func() bool {
		_, err := os.Stat(filepath.Join(s.DataDir, "credential"))
		return len(p.hellos) == 1 && err == nil
	})
	first.halt()
	info, err := os.Stat(filepath.Join(s.DataDir, "credential"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v, want a file for its owner alone", info, err)
	}
	p.mu.Lock()
	p.refuse = func(h *agentv1.Hello) *agentv1.Refusal {
		if h.GetCredential() != "" {
			return &agentv1.Refusal{Reason: "revoked", Rejoin: true}
		}
		return nil
	}
	p.mu.Unlock()
	run(t, s)
	p.await("it joins anew", func() bool { return len(p.hellos) == 3 })
	for i, want := range []string{"join", "", "join"} {
		if got := p.hellos[i].GetJoinToken(); got != want {
			t.Errorf("hello %d: got token %q, want %q", i, got, want)
		}
	}
}

func TestTheFirstConnectionIsRetriedAndTheHookRuns(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	s := settings(t, p)
	s.MasterPort = 1 // nothing listens on this port
	s.AgentReconnectAttempts = 2
	mark := filepath.Join(t.TempDir(), "mark")
	s.Hooks.OnConnectionLost = []string{"touch", mark}
	if err := run(t, s).wait(); !errors.Is(err, link.ErrLost) {
		t.Errorf("got %v, want ErrLost", err)
	}
	if _, err := os.Stat(mark); err != nil {
		t.Errorf("the hook did not run: %v", err)
	}
}

func TestASecondAgentOnOneDirectoryIsRefused(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	s := settings(t, p)
	run(t, s)
	p.await("the first is there", func() bool { return len(p.hellos) == 1 })
	if err := run(t, s).wait(); err == nil || !strings.Contains(err.Error(), "another agent is using it") {
		t.Errorf("got %v", err)
	}
}

func TestTheMastersConfiguration(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	s := settings(t, p)
	p.config = []byte("artificial_slots: 5\n")
	if err := run(t, s).wait(); err == nil || !strings.Contains(err.Error(), "does not accept a configuration") {
		t.Errorf("without Overlay: got %v", err)
	}
	runConfig(t, Config{
		Settings: s, Version: "test", Log: slog.New(slog.DiscardHandler),
		Overlay: func(doc []byte) (config.Agent, error) {
			with := s
			if strings.Contains(string(doc), "5") {
				with.ArtificialSlots = 5
			}
			return with, nil
		},
	})
	p.await("it comes with five slots", func() bool {
		return len(p.hellos[len(p.hellos)-1].GetDevices()) == 5
	})
}

func TestUnsupportedSettingsAreRejected(t *testing.T) {
	t.Parallel()
	s := settings(t, newPeer(t))
	s.APIEnabled = true
	if err := run(t, s).wait(); err == nil || !strings.Contains(err.Error(), "api_enabled") {
		t.Errorf("got %v", err)
	}
}

func TestDocker(t *testing.T) {
	t.Parallel()
	d := dockertest.Start(t)
	p := newPeer(t)
	s := settings(t, p)
	s.ContainerRuntime = config.RuntimeDocker
	c := Config{Settings: s, Version: "test", Log: slog.New(slog.DiscardHandler), DockerHost: d.Host}
	first := runConfig(t, c)
	docker := func(o *agentv1.Start) {
		o.Spec.Image, o.Spec.NetworkMode = dockertest.Image, "host"
		o.Spec.Files = []*apiv1.File{{Path: "/run/determined/workdir/f", Type: '0', Content: []byte("file"), Mode: 0o644}}
	}
	// The container keeps running while its agent restarts.
	p.start("long", `cat f; echo; echo "$DET_MASTER_HOST"; while [ ! -e go ]; do sleep 0.05; done; echo done; exit 7`, docker)
	long := p.containers["long"]
	p.await("it speaks", func() bool { return len(long.lines) == 2 })
	first.halt()
	run := runConfig(t, c)
	p.await("the second agent is there", func() bool { return len(p.hellos) == 2 && p.conn != nil })
	p.signal("long", agentv1.Signal_KIND_KILL, 0)
	p.awaitEnd("long")
	if got := long.texts(); !slices.Equal(got, []string{"file", "127.0.0.1"}) || long.exit.GetCode() != 137 {
		t.Errorf("got %q, %v", got, long.exit)
	}
	p.start("missing", "exit 0", docker, func(o *agentv1.Start) { o.Spec.Image = "127.0.0.1:1/no:image" })
	if m := p.awaitEnd("missing"); m.exit.GetKind() != agentv1.Exit_KIND_NOT_STARTED || !strings.Contains(m.exit.GetMessage(), "pull image") {
		t.Errorf("got %v", m.exit)
	}
	// The container was removed manually.
	p.start("gone", "echo here; sleep 600", docker)
	gone := p.containers["gone"]
	p.await("it speaks", func() bool { return len(gone.lines) == 1 })
	d.Remove(t, "det-deploy-gone")
	if p.awaitEnd("gone"); gone.exit.GetKind() == agentv1.Exit_KIND_NOT_STARTED {
		t.Errorf("got %v", gone.exit)
	}
	dockerStops(t, d, p, docker)
	awaitEmpty(t, s.DataDir)
	run.halt()
}

// Messages of the same moment are combined: a short task causes an exit and usually one state
// before it.
func TestAShortTaskIsFewMessages(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	run(t, settings(t, p))
	const tasks = 100
	for n := range tasks {
		id := strconv.Itoa(n)
		p.start(id, "exit 0")
		p.awaitEnd(id)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	// Two, and four if they are not combined. On a busy machine a state may be sent separately.
	if p.messages > tasks*7/2 {
		t.Errorf("got %d messages of %d tasks", p.messages, tasks)
	}
}

// BenchmarkShortTasks runs 100 tasks at a time with plain processes and a master in this process.
func BenchmarkShortTasks(b *testing.B) {
	p := newPeer(b)
	runConfig(b, Config{Settings: settings(b, p), Version: "bench", Log: slog.New(slog.DiscardHandler)})
	p.await("the agent is there", func() bool { return p.conn != nil })
	ended := func() (n int) {
		for _, c := range p.containers {
			if c.exit != nil {
				n++
			}
		}
		return n
	}
	n := 0
	b.ResetTimer()
	for range b.N {
		if n++; n%100 == 0 {
			p.await("the last hundred have ended", func() bool { return ended() >= n-100 })
		}
		p.start("t"+strconv.Itoa(n), "exit 0")
	}
	p.await("all have ended", func() bool { return ended() == n })
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tasks/s")
}
