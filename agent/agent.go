// Package agent runs tasks on one machine for a master: it starts the containers that the master
// orders, ships their output and reports their exit. Orders, states and output are on disk, so that
// none of them is lost if the agent, the master or the network between them fails.
package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/agent/config"
	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/agent/disk"
	"github.com/det-deploy/det-deploy/agent/health"
	"github.com/det-deploy/det-deploy/agent/lifecycle"
	"github.com/det-deploy/det-deploy/agent/link"
	"github.com/det-deploy/det-deploy/agent/task"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// Config configures an agent.
type Config struct {
	// Settings is a valid agent.yaml.
	Settings config.Agent
	// Version is the version of the running program.
	Version string
	Log     *slog.Logger
	// DockerHost is the address of the Docker Engine. If empty, the agent uses DOCKER_HOST or the
	// default socket.
	DockerHost string
	// Overlay merges a configuration from the master into the agent's own. If nil, the agent
	// rejects configurations from a master.
	Overlay func(document []byte) (config.Agent, error)
	// Program is the path of the running program, which an update from the master replaces. If
	// empty, the agent does not update itself.
	Program string

	// machine proves the identity of a launched machine and reports its interruption notices.
	machine Machine
}

// Agent is a running agent.
type Agent struct {
	cfg      Config
	disk     *disk.Disk
	runtime  closingRuntime
	guard    task.Guard
	devices  []*apiv1.Device
	hostname string
	// notIsolated, noFixedPaths and noLimits are the reasons why tasks are not isolated, their files
	// are not at fixed paths, or they have no limits; empty if they are and have.
	notIsolated, noFixedPaths, noLimits string
	client                              *http.Client
	// welcomed is closed on the first welcome.
	welcomed chan struct{}
	// spawn runs a goroutine of a task with a context that is canceled when the agent stops. The
	// agent waits for it.
	spawn func(func(context.Context))

	// mu guards the fields below.
	mu      sync.Mutex
	host    task.Host
	tasks   map[string]*task.Task
	session *session
	// health reports whether the machine can start containers; unwell wakes watchHealth.
	health health.State
	unwell chan struct{}
	// notice is the latest interruption notice of the machine.
	notice *agentv1.Notice
	// following is true while the master's program is being downloaded. swapped is closed when the
	// program has been replaced.
	following bool
	swapped   chan struct{}
}

// Hello returns the agent's greeting: its identity, slots, health and containers.
func (a *Agent) Hello() *agentv1.Hello {
	h := &agentv1.Hello{
		AgentId: a.host.AgentID, Version: a.cfg.Version, ResourcePool: a.cfg.Settings.ResourcePool,
		Hostname: a.hostname, Devices: a.devices, Health: a.healthNow(), Machine: bootID(),
		NotIsolated: a.notIsolated, TrustsUsers: a.cfg.Settings.TrustUsers, NoFixedPaths: a.noFixedPaths,
		NoLimits: a.noLimits, Streams: true,
	}
	for _, u := range a.listTasks() {
		h.Containers = append(h.Containers, &agentv1.Report{
			ContainerId: u.ID(), AllocationId: u.Order.GetAllocationId(), State: u.View().State.State.Proto(),
		})
	}
	return h
}

// Serve removes the containers that the master does not know, then exchanges messages with the
// master until the connection breaks.
func (a *Agent) Serve(ctx context.Context, c *link.Conn, w *agentv1.Welcome) error {
	if err := a.checkOverlay(w.GetAgentConfig()); err != nil {
		return err
	}
	s := newSession(a, c, w)
	a.takeWelcome(w, s)
	a.startFollowing(w)
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.session = nil
	}()
	defer a.removeBeside(ctx)()
	return s.runSession(ctx)
}

// removeBeside removes orphaned containers in the background, so that an engine that hangs does not
// block the session. stop cancels the removal and waits for it.
func (a *Agent) removeBeside(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := a.removeOrphans(ctx); err != nil && ctx.Err() == nil {
			a.cfg.Log.Warn("cannot list orphaned containers", "err", err)
			a.startFailed(err)
		}
	}()
	return func() { cancel(); <-done }
}

// takeWelcome applies a welcome: it stores the IDs of the cluster and the master, forgets the
// containers that the master does not know, and resumes the others from the acknowledged positions.
func (a *Agent) takeWelcome(w *agentv1.Welcome, s *session) {
	known := map[string]*agentv1.Known{}
	for _, k := range w.GetContainers() {
		known[k.GetContainerId()] = k
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.host.ClusterID, a.host.MasterID = w.GetClusterId(), w.GetMasterId()
	a.session = s
	s.announceHealth(healthOf(a.health))
	if a.notice != nil {
		s.announceNotice(a.notice)
	}
	for id, u := range a.tasks {
		k := known[id]
		if k == nil {
			u.Log.Info("removing a container unknown to the master")
			u.Forget()
			continue
		}
		u.AckLogs(k.GetLogNextSeq())
		u.SetAcked(k.GetAcked())
		if k.GetAcked() == apiv1.Container_STATE_TERMINATED && u.View().State.State == lifecycle.Terminated {
			u.Forget()
			continue
		}
		s.touchContainer(id)
	}
	select {
	case <-a.welcomed:
	default:
		close(a.welcomed)
	}
}

// startFollowing starts downloading the master's program unless a download is already running. When
// the program has been replaced, the session ends.
func (a *Agent) startFollowing(w *agentv1.Welcome) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.following {
		return
	}
	a.following = true
	a.spawn(func(ctx context.Context) {
		err := followMaster(ctx, a.cfg, a.client, w)
		a.mu.Lock()
		defer a.mu.Unlock()
		if _, ok := errors.AsType[*SupersededError](err); ok {
			close(a.swapped)
			return
		}
		a.following = false
	})
}

// orphanPatience is the timeout for finding and removing orphaned containers.
const orphanPatience = time.Minute

// removeOrphans removes containers without an order, such as those of an agent whose disk was lost.
func (a *Agent) removeOrphans(ctx context.Context) error {
	a.mu.Lock()
	cluster := a.host.ClusterID
	a.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, orphanPatience)
	defer cancel()
	ids, err := a.runtime.List(ctx, cluster)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if a.taskOf(id) != nil {
			continue
		}
		if a.keepsContainers() {
			if err := a.runtime.Signal(ctx, id, container.Kill); err != nil {
				return err
			}
			continue
		}
		a.cfg.Log.Info("removing orphaned container", "container", id)
		if err := a.runtime.Remove(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// addTask stores an order and starts its task. It does nothing if the task exists, and returns an
// error if the machine cannot start containers.
func (a *Agent) addTask(o *agentv1.Start) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.tasks[o.GetContainerId()] != nil {
		return nil
	}
	if err := a.health.Err(); err != nil {
		return err
	}
	entry, added, err := a.disk.Add(o)
	if err != nil {
		return err
	}
	if err := a.adoptTask(entry, o, !added); err != nil {
		return errors.Join(err, entry.Remove())
	}
	return nil
}

// adoptTask runs the task of a stored order, which an earlier agent may have started. The caller
// holds mu.
func (a *Agent) adoptTask(entry disk.Entry, o *agentv1.Start, asked bool) error {
	u, err := task.Open(task.Config{
		Runtime: a.runtime, Guard: a.guard, Host: a.awaitHost, Client: a.client, Temp: a.cfg.Settings.DataDir,
		Master:  a.cfg.Settings.Scheme() + "://" + masterAddress(a.cfg.Settings),
		Changed: a.touchTask, Passing: a.touchPassing, Failed: a.startFailed, Started: a.startWorked,
		Keep: a.keepsContainers(), Log: a.cfg.Log,
	}, entry, o, asked)
	if err != nil {
		return err
	}
	id := u.ID()
	a.tasks[id] = u
	a.spawn(func(ctx context.Context) {
		err := u.Live(ctx)
		if cerr := u.Journal.Close(); cerr != nil {
			u.Log.Warn("cannot close the log journal", "err", cerr)
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			u.Log.Error("cannot remove container; remove it manually", "err", err)
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.tasks, id)
	})
	return nil
}

// restoreTasks runs the tasks of all orders on disk.
func (a *Agent) restoreTasks() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, e := range a.disk.Entries() {
		if err := a.adoptTask(e, e.Start(), true); err != nil {
			return fmt.Errorf("restore container %s: %w", e.ID(), err)
		}
	}
	return nil
}

func (a *Agent) touchTask(id string) {
	if s := a.currentSession(); s != nil {
		s.touchContainer(id)
	}
}

func (a *Agent) touchPassing(id string) {
	if s := a.currentSession(); s != nil {
		s.touchPassing(id)
	}
}

// currentSession returns the session of the current connection, or nil without one.
func (a *Agent) currentSession() *session {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.session
}

func (a *Agent) taskOf(id string) *task.Task {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.tasks[id]
}

func (a *Agent) listTasks() []*task.Task {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := make([]*task.Task, 0, len(a.tasks))
	for _, u := range a.tasks {
		out = append(out, u)
	}
	return out
}

// keepsContainers reports whether exited containers are kept for inspection.
func (a *Agent) keepsContainers() bool {
	return a.cfg.Settings.ContainerAutoRemoveDisabled && a.host.Docker
}

// awaitHost waits for the first welcome, which contains the cluster ID.
func (a *Agent) awaitHost(ctx context.Context) (task.Host, error) {
	select {
	case <-ctx.Done():
		return task.Host{}, ctx.Err()
	case <-a.welcomed:
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.host, nil
}
