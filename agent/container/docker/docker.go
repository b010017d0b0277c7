// Package docker runs an agent's containers through a Docker Engine with API version 1.41 or newer.
//
// The engine stores what must survive the agent: containers are found by their labels, exit codes
// by inspection, and output in the engine's log files, which are read from the start and counted
// until they are rotated.
package docker

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	engine "github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/system"
	"github.com/moby/moby/client"

	"github.com/det-deploy/det-deploy/agent/container"
)

// Labels that identify containers for users and agents.
const (
	labelType        = "ai.determined.container.type"
	labelID          = "ai.determined.container.id"
	labelAgent       = "ai.determined.container.agent"
	labelCluster     = "ai.determined.container.cluster"
	labelAllocation  = "ai.determined.container.allocation"
	labelDescription = "ai.determined.container.description"
	labelDevices     = "ai.determined.container.devices"
)

// Options configures a Runtime.
type Options struct {
	// Host is the engine's address, like unix:///run/docker.sock. If empty, DOCKER_HOST or the
	// default socket is used.
	Host string
	// Agent is the ID of the agent that owns the containers.
	Agent string
	// HostIP is the address at which other machines reach published ports.
	HostIP string
	// Network is created if a container uses it and it does not exist.
	Network string
	// Runtime is the engine's runtime for containers; empty for the engine's default.
	Runtime string
	// Entered is a directory for the IDs of programs that have entered containers. It belongs to this
	// agent alone. If it is empty, such programs outlive an agent that is killed.
	Entered string
}

// Runtime runs containers. Use New to create one.
type Runtime struct {
	opts Options
	api  *client.Client
	// init is true if the engine has an init program, which reaps zombie processes.
	init bool
	// root is the engine's directory for images and containers.
	root string
	// unlimited is the reason why containers have no limits, or nil.
	unlimited error
}

var _ container.Runtime = (*Runtime)(nil)

// firstTimeout is the timeout of the first requests to an engine.
const firstTimeout = 10 * time.Second

// New connects to an engine. It returns an error if the engine does not answer.
func New(ctx context.Context, o Options) (*Runtime, error) {
	first, cancel := context.WithTimeout(ctx, firstTimeout)
	defer cancel()
	r, err := Reach(first, o)
	if err != nil {
		return nil, err
	}
	info, err := r.api.Info(first, client.InfoOptions{})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("get information about the Docker Engine: %w", err), r.Close())
	}
	// The engine reports "N/A" for a missing program, and "" for one of an unknown commit.
	r.init, r.root = info.Info.InitCommit.ID != "N/A", info.Info.DockerRootDir
	r.unlimited = missingLimits(info.Info)
	_ = r.endEntered(ctx) // what is left ends with its container
	return r, nil
}

// missingLimits returns an error for the limits that the engine's machine does not support.
func missingLimits(i system.Info) error {
	var missing []string
	if !i.MemoryLimit {
		missing = append(missing, "memory")
	}
	if !i.PidsLimit {
		missing = append(missing, "processes")
	}
	if missing == nil {
		return nil
	}
	return fmt.Errorf("the Docker Engine cannot limit the %s of containers: its machine lacks the control groups", strings.Join(missing, " and "))
}

// Reach connects to an engine to inspect and stop containers. Unlike New, it only pings the engine.
func Reach(ctx context.Context, o Options) (*Runtime, error) {
	opts := []client.Opt{client.FromEnv}
	if o.Host != "" {
		opts = []client.Opt{client.WithHost(o.Host)}
	}
	api, err := client.New(opts...)
	if err != nil {
		return nil, fmt.Errorf("connect to the Docker Engine: %w", err)
	}
	if _, err := api.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true}); err != nil {
		return nil, errors.Join(fmt.Errorf("ping the Docker Engine: %w", err), api.Close())
	}
	return &Runtime{opts: o, api: api}, nil
}

// Close closes the connection to the engine; containers keep running.
func (r *Runtime) Close() error { return r.api.Close() }

// HasInit reports whether tasks run under the engine's init program. Without it, zombie processes
// of a task remain until the task exits.
func (r *Runtime) HasInit() bool { return r.init }

// Unlimited returns nil if containers can have limits of memory and processes, or else the reason.
func (r *Runtime) Unlimited() error { return r.unlimited }

// containerName returns the name of a container in the engine.
func containerName(id string) string { return "det-deploy-" + id }

// Inspect queries the engine.
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

// phaseOf converts the engine's state. A container whose program could not be executed counts as
// never started, regardless of the engine's name for its state.
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

// publishedAddresses returns the addresses of the published ports, or the host's if the container
// uses the host network.
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
			break // the IPv6 binding of the same port is redundant
		}
	}
	return out
}

// Signal sends SIGTERM or SIGKILL.
func (r *Runtime) Signal(ctx context.Context, id string, sig container.Signal) error {
	signal := "SIGTERM"
	if sig == container.Kill {
		signal = "SIGKILL"
	}
	_, err := r.api.ContainerKill(ctx, containerName(id), client.ContainerKillOptions{Signal: signal})
	// The engine returns a conflict if the container is not running.
	if err == nil || cerrdefs.IsNotFound(err) || cerrdefs.IsConflict(err) {
		return nil
	}
	return fmt.Errorf("signal container %s: %w", id, err)
}

// Wait waits through the engine.
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
		// Check the engine's filter, because the result is used to remove containers.
		if c.Labels[labelAgent] == r.opts.Agent && c.Labels[labelCluster] == cluster && c.Labels[labelID] != "" {
			ids = append(ids, c.Labels[labelID])
		}
	}
	return ids, nil
}

// Remove kills and deletes the container and its anonymous volumes.
func (r *Runtime) Remove(ctx context.Context, id string) error {
	_, err := r.api.ContainerRemove(ctx, containerName(id), client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	if err == nil || cerrdefs.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("remove container %s: %w", id, err)
}
