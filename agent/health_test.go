package agent

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/test/dockertest"
)

// lack returns the latest health that the agent reported.
func (p *peer) lack() agentv1.Health_Lack {
	if len(p.healths) == 0 {
		return agentv1.Health_LACK_UNSPECIFIED
	}
	return p.healths[len(p.healths)-1].GetLack()
}

// A full disk is not an error of the task: the agent reports that the container did not start,
// rejects new ones, and recovers when there is space again.
func TestFullDiskDoesNotCountAsTaskFailure(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	s := settings(t, p)
	smallDisk(t, s.DataDir)
	run(t, s)
	p.start("before", "exit 0")
	if c := p.awaitEnd("before"); c.exit.GetNotHere() || c.exit.GetKind() != agentv1.Exit_KIND_EXITED {
		t.Fatalf("got %v, want it to run", c.exit)
	}
	awaitEmpty(t, s.DataDir) // later removals would free space
	ballast := filepath.Join(s.DataDir, "ballast")
	fill(t, ballast)
	p.start("full", "exit 0")
	c := p.awaitEnd("full")
	if !c.exit.GetNotHere() || c.exit.GetKind() != agentv1.Exit_KIND_NOT_STARTED || !strings.HasPrefix(c.exit.GetMessage(), "no space left on device") {
		t.Errorf("got %v, want that it is not here for want of space", c.exit)
	}
	p.await("it reports that its disk is full", func() bool { return p.lack() == agentv1.Health_LACK_DISK })
	p.start("refused", "exit 0")
	if c := p.awaitEnd("refused"); !c.exit.GetNotHere() || c.received > 0 {
		t.Errorf("while it is sick: got %v, received %d times", c.exit, c.received)
	}
	// A reconnecting master gets the health with the hello.
	hellos := len(p.hellos)
	p.disconnect()
	p.await("it is back", func() bool { return len(p.hellos) > hellos })
	if got := p.hellos[len(p.hellos)-1].GetHealth().GetLack(); got != agentv1.Health_LACK_DISK {
		t.Errorf("got %v in its hello", got)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	p.await("it is well", func() bool { return p.lack() == agentv1.Health_LACK_UNSPECIFIED })
	p.start("after", "exit 4")
	if c := p.awaitEnd("after"); c.exit.GetCode() != 4 {
		t.Errorf("when it is well: got %v", c.exit)
	}
}

func TestFullStartErrorIsOnlyInAgentLog(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	a := &Agent{cfg: Config{Log: slog.New(slog.NewTextHandler(&log, nil))}, unwell: make(chan struct{}, 1)}
	a.startFailed(fmt.Errorf("pull image secret/x: %w", unix.ENOSPC))
	if got := a.healthNow().GetReason(); got != "no space left on device" {
		t.Errorf("the master, and whoever it shows it to, is told %q", got)
	}
	if got := a.health.Err().Error(); strings.Contains(got, "secret") {
		t.Errorf("the next task is told %q", got)
	}
	if !strings.Contains(log.String(), "pull image secret/x: no space left on device") {
		t.Errorf("got %s in the log", &log)
	}
}

// smallDisk mounts a small file system at dir.
func smallDisk(t *testing.T, dir string) {
	t.Helper()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=8m,mode=0711"); err != nil {
		t.Skipf("cannot mount a small disk: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) }) // the agent may have files open
}

// fill writes until the disk is full.
func fill(t *testing.T, file string) {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	_ = f.Close() // the disk is full, as intended
}

// dockerStops suspends the engine as kill -STOP does: the agent reports that the container did not
// start, and starts containers again when the engine resumes.
func dockerStops(t *testing.T, d *dockertest.Daemon, p *peer, docker func(*agentv1.Start)) {
	t.Helper()
	p.start("runs", "while [ ! -e go ]; do sleep 0.05; done; exit 5", docker)
	p.awaitState("runs", apiv1.Container_STATE_RUNNING)
	d.Stop(t)
	p.start("stopped", "exit 0", docker)
	if c := p.awaitEnd("stopped"); !c.exit.GetNotHere() {
		t.Errorf("while the engine is stopped: got %v, want that it is not here", c.exit)
	}
	p.await("it reports that its engine does not answer", func() bool { return p.lack() == agentv1.Health_LACK_ENGINE })
	d.Continue(t)
	p.await("it is well", func() bool { return p.lack() == agentv1.Health_LACK_UNSPECIFIED })
	p.start("goes-on", "exit 6", docker)
	if c := p.awaitEnd("goes-on"); c.exit.GetCode() != 6 {
		t.Errorf("when the engine goes on: got %v", c.exit)
	}
	p.signal("runs", agentv1.Signal_KIND_KILL, 0)
	if c := p.awaitEnd("runs"); c.exit.GetKind() != agentv1.Exit_KIND_EXITED || c.exit.GetCode() != 137 {
		t.Errorf("what ran all the time: got %v", c.exit)
	}
}
