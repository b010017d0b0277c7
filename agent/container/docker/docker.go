// Package docker runs an agent's containers through a Docker Engine of API
// version 1.41 or newer.
//
// The engine keeps what an agent must not lose: containers are found again by
// their labels, exit codes by inspection, and output in the engine's own log
// files, which are read from the start and counted for as long as they are whole.
package docker

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	engine "github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/det-deploy/det-deploy/agent/container"
)

// Labels by which people and agents find containers.
const (
	labelType        = "ai.determined.container.type"
	labelID          = "ai.determined.container.id"
	labelAgent       = "ai.determined.container.agent"
	labelCluster     = "ai.determined.container.cluster"
	labelAllocation  = "ai.determined.container.allocation"
	labelDescription = "ai.determined.container.description"
	labelDevices     = "ai.determined.container.devices"
)

// Options says which engine, and for whom.
type Options struct {
	// Host is the engine's address, like unix:///run/docker.sock; empty takes
	// DOCKER_HOST, or the usual socket.
	Host string
	// Agent is the id of the agent whose containers these are.
	Agent string
	// HostIP is where other machines reach published ports.
	HostIP string
	// Network is made when a container wants it and it is missing.
	Network string
	// Runtime is the engine's runtime for containers; empty is its own default.
	Runtime string
}

// Runtime runs containers. Make one with New.
type Runtime struct {
	opts Options
	api  *client.Client
	// init says that the engine has an init program, which reaps what a task
	// leaves behind.
	init bool
	// root is where the engine keeps images and containers, as it says.
	root string
}

var _ container.Runtime = (*Runtime)(nil)

// firstTimeout bounds the first question to an engine.
const firstTimeout = 10 * time.Second

// New connects to an engine; the error says why it does not answer.
func New(ctx context.Context, o Options) (*Runtime, error) {
	ctx, cancel := context.WithTimeout(ctx, firstTimeout)
	defer cancel()
	r, err := Reach(ctx, o)
	if err != nil {
		return nil, err
	}
	info, err := r.api.Info(ctx, client.InfoOptions{})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("ask the docker engine about itself: %w", err), r.Close())
	}
	// The engine's word for a program that is not there; empty is one that
	// does not tell its commit.
	r.init, r.root = info.Info.InitCommit.ID != "N/A", info.Info.DockerRootDir
	return r, nil
}

// Reach is New for looking at containers and ending them: it asks the engine nothing
// but whether it is there.
func Reach(ctx context.Context, o Options) (*Runtime, error) {
	opts := []client.Opt{client.FromEnv}
	if o.Host != "" {
		opts = []client.Opt{client.WithHost(o.Host)}
	}
	api, err := client.New(opts...)
	if err != nil {
		return nil, fmt.Errorf("connect to the docker engine: %w", err)
	}
	if _, err := api.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true}); err != nil {
		return nil, errors.Join(fmt.Errorf("ask the docker engine for its version: %w", err), api.Close())
	}
	return &Runtime{opts: o, api: api}, nil
}

// Close lets go of the engine; containers go on.
func (r *Runtime) Close() error { return r.api.Close() }

// HasInit says whether tasks run below the engine's init program. Without it
// zombies of a task stay until the task ends.
func (r *Runtime) HasInit() bool { return r.init }

// containerName is a container's in the engine.
func containerName(id string) string { return "det-deploy-" + id }

// Inspect asks the engine.
func (r *Runtime) Inspect(ctx context.Context, id string) (container.Status, error) {
	var c client.ContainerInspectResult
	err := askSoon(ctx, func(ctx context.Context) (err error) {
		c, err = r.api.ContainerInspect(ctx, containerName(id), client.ContainerInspectOptions{})
		return err
	})
	if cerrdefs.IsNotFound(err) {
		return container.Status{Phase: container.Absent}, nil
	}
	if err != nil {
		return container.Status{}, fmt.Errorf("inspect container %s: %w", id, err)
	}
	s := container.Status{Phase: phaseOf(c.Container.State)}
	if s.Phase == container.Running {
		s.Addresses = r.publishedAddresses(c.Container)
	}
	return s, nil
}

// phaseOf reads the engine's state. One whose program could not be executed
// never started, whatever else the engine calls it.
func phaseOf(s *engine.State) container.Phase {
	switch {
	case s == nil || s.Status == engine.StateCreated:
		return container.Created
	case s.Running || s.Paused || s.Restarting:
		return container.Running
	default:
		return container.Ended
	}
}

// publishedAddresses are the published ports, or the host's own where the container
// has no network of its own.
func (r *Runtime) publishedAddresses(c engine.InspectResponse) []container.Address {
	var out []container.Address
	if c.HostConfig != nil && c.HostConfig.NetworkMode.IsHost() {
		for port := range c.Config.ExposedPorts {
			n := int(port.Num())
			out = append(out, container.Address{ContainerIP: r.opts.HostIP, ContainerPort: n, HostIP: r.opts.HostIP, HostPort: n})
		}
		return out
	}
	if c.NetworkSettings == nil {
		return nil
	}
	ip := ""
	for _, n := range c.NetworkSettings.Networks {
		if n != nil && n.IPAddress.IsValid() {
			ip = n.IPAddress.String()
		}
	}
	for port, bindings := range c.NetworkSettings.Ports {
		for _, b := range bindings {
			host, err := strconv.Atoi(b.HostPort)
			if err != nil {
				continue
			}
			out = append(out, container.Address{ContainerIP: ip, ContainerPort: int(port.Num()), HostIP: r.opts.HostIP, HostPort: host})
			break // the same port over IPv6 is the same address to others
		}
	}
	return out
}

// Signal passes on SIGTERM or SIGKILL.
func (r *Runtime) Signal(ctx context.Context, id string, sig container.Signal) error {
	signal := "SIGTERM"
	if sig == container.Kill {
		signal = "SIGKILL"
	}
	_, err := r.api.ContainerKill(ctx, containerName(id), client.ContainerKillOptions{Signal: signal})
	// A conflict is the engine's word for "it does not run".
	if err == nil || cerrdefs.IsNotFound(err) || cerrdefs.IsConflict(err) {
		return nil
	}
	return fmt.Errorf("signal container %s: %w", id, err)
}

// Wait asks the engine to wait.
func (r *Runtime) Wait(ctx context.Context, id string) (int, error) {
	s, err := r.Inspect(ctx, id)
	if err != nil {
		return 0, err
	}
	if s.Phase == container.Absent || s.Phase == container.Created {
		return 0, fmt.Errorf("wait for container %s: %w", id, container.ErrGone)
	}
	w := r.api.ContainerWait(ctx, containerName(id), client.ContainerWaitOptions{Condition: engine.WaitConditionNotRunning})
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case err := <-w.Error:
		if cerrdefs.IsNotFound(err) {
			err = container.ErrGone
		}
		return 0, fmt.Errorf("wait for container %s: %w", id, err)
	case end := <-w.Result:
		if end.Error != nil {
			return 0, fmt.Errorf("wait for container %s: %s", id, end.Error.Message)
		}
		return int(end.StatusCode), nil
	}
}

// List finds the agent's containers by their labels.
func (r *Runtime) List(ctx context.Context, cluster string) ([]string, error) {
	var found client.ContainerListResult
	err := askSoon(ctx, func(ctx context.Context) (err error) {
		found, err = r.api.ContainerList(ctx, client.ContainerListOptions{
			All:     true,
			Filters: make(client.Filters).Add("label", labelAgent+"="+r.opts.Agent, labelCluster+"="+cluster),
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list containers: %w", err)
	}
	var ids []string
	for _, c := range found.Items {
		// What the engine filters is looked at again before it is removed.
		if c.Labels[labelAgent] == r.opts.Agent && c.Labels[labelCluster] == cluster && c.Labels[labelID] != "" {
			ids = append(ids, c.Labels[labelID])
		}
	}
	return ids, nil
}

// Remove kills and removes, volumes without a name included.
func (r *Runtime) Remove(ctx context.Context, id string) error {
	_, err := r.api.ContainerRemove(ctx, containerName(id), client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	if err == nil || cerrdefs.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("remove container %s: %w", id, err)
}
