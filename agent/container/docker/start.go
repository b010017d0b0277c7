package docker

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	engine "github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/internal/wait"
)

// Start creates the container, copies its files into it, and starts it. It does nothing if the
// interrupted start of an earlier agent has succeeded.
func (r *Runtime) Start(ctx context.Context, spec container.Spec) error {
	return r.askWatched(ctx, func(ctx context.Context) error {
		env, err := r.defaultEnviron(ctx, spec)
		if err != nil {
			return err
		}
		spec := spec
		spec.Env = append(env, spec.Env...)
		options, err := r.createOptions(spec)
		if err != nil {
			return err
		}
		return r.startWith(ctx, spec, options)
	})
}

// defaultEnviron returns the variables that neither the image nor the order sets. It sets HOME for
// users without an account in the image, for which the engine would set /.
func (r *Runtime) defaultEnviron(ctx context.Context, s container.Spec) ([]string, error) {
	var image []string
	switch found, err := r.api.ImageInspect(ctx, s.Image); {
	case cerrdefs.IsNotFound(err): // creating the container returns a better error
	case err != nil:
		return nil, fmt.Errorf("inspect image %s: %w", s.Image, err)
	case found.Config != nil:
		image = found.Config.Env
	}
	has := func(name string) bool {
		return container.HasVariable(image, name) || container.HasVariable(s.Env, name)
	}
	var env []string
	if !has("PYTHONUNBUFFERED") {
		env = append(env, container.Unbuffered)
	}
	if s.User != nil && s.User.UID != 0 && s.WorkDir != "" && !has("HOME") {
		env = append(env, "HOME="+s.WorkDir)
	}
	return env, nil
}

func (r *Runtime) startWith(ctx context.Context, spec container.Spec, options client.ContainerCreateOptions) error {
	id, err := r.createContainer(ctx, options)
	if err != nil || id == "" {
		return err
	}
	if err := r.copyFiles(ctx, spec); err != nil {
		return fmt.Errorf("copy files into the container: %w", err)
	}
	if _, err := r.api.ContainerStart(ctx, id, client.ContainerStartOptions{}); err != nil {
		return fmt.Errorf("start the container: %w", err)
	}
	return nil
}

const (
	// createPatience limits the wait for requests of an earlier agent that are still in progress in
	// the engine.
	createPatience = 30 * time.Second
	createPause    = 50 * time.Millisecond
)

// createContainer creates a container and returns the engine's ID for it. If an interrupted start
// has created it, it returns that ID, or "" if the container has already run.
//
// Requests of a killed agent may still be in progress in the engine. They find or create the same
// container, because it is created from the same order, its files are written again, and it is only
// removed after its exit.
func (r *Runtime) createContainer(ctx context.Context, options client.ContainerCreateOptions) (id string, err error) {
	ctx, cancel := context.WithTimeout(ctx, createPatience)
	defer cancel()
	for {
		c, err := r.api.ContainerInspect(ctx, options.Name, client.ContainerInspectOptions{})
		switch {
		case err == nil && phaseOf(c.Container.State) == container.Created:
			return c.Container.ID, nil
		case err == nil:
			return "", nil
		case !cerrdefs.IsNotFound(err):
			return "", fmt.Errorf("inspect the container: %w", err)
		}
		made, err := r.api.ContainerCreate(ctx, options)
		switch {
		case err == nil:
			return made.ID, nil
		case cerrdefs.IsNotFound(err):
			return "", fmt.Errorf("create the container: image %s does not exist: %w", options.Config.Image, err)
		case !cerrdefs.IsConflict(err):
			return "", fmt.Errorf("create the container: %w", err)
		}
		if err := wait.For(ctx, createPause); err != nil {
			return "", fmt.Errorf("create the container: %w", err)
		}
	}
}

func (r *Runtime) createOptions(s container.Spec) (client.ContainerCreateOptions, error) {
	exposed, published, err := portsOf(s)
	if err != nil {
		return client.ContainerCreateOptions{}, err
	}
	config := &engine.Config{
		Image: s.Image, Env: s.Env, WorkingDir: s.WorkDir, Labels: labelsOf(s), ExposedPorts: exposed,
	}
	if len(s.Command) > 0 {
		// The task's command replaces the image's entrypoint and command.
		config.Entrypoint, config.Cmd = s.Command[:1], s.Command[1:]
	}
	if s.User != nil {
		config.User = fmt.Sprintf("%d:%d", s.User.UID, s.User.GID)
	}
	host := &engine.HostConfig{
		NetworkMode: engine.NetworkMode(s.NetworkMode), PortBindings: published,
		ShmSize: s.ShmSize, CapAdd: s.AddCaps, CapDrop: droppedCaps(s), Mounts: mountsOf(s.Mounts),
		// Setuid programs such as sudo do not gain privileges.
		SecurityOpt: []string{"no-new-privileges"},
		Resources:   engine.Resources{Memory: s.Memory, MemorySwap: s.Memory, PidsLimit: pidsLimit(s)},
		// Use one local file without rotation: an engine that begins another file while the output
		// is followed may skip or repeat lines (Docker 20.10).
		LogConfig: engine.LogConfig{Type: "json-file", Config: map[string]string{"max-size": "1000t"}},
		Init:      &r.init,
		Runtime:   r.opts.Runtime,
	}
	if s.HostGateway != "" && ownNetwork(host.NetworkMode) {
		host.ExtraHosts = []string{s.HostGateway + ":host-gateway"}
	}
	giveDevices(&host.Resources, s)
	return client.ContainerCreateOptions{Config: config, HostConfig: host, Name: containerName(s.ID)}, nil
}

// pidsLimit returns the limit of processes, or nil for no limit.
func pidsLimit(s container.Spec) *int64 {
	if s.Processes == 0 {
		return nil
	}
	return &s.Processes
}

// droppedCaps returns the capabilities to drop. Of the engine's defaults, MKNOD and NET_RAW are
// mostly useful for attacks: creating devices in a directory of the machine, and spoofing other
// tasks on the network. Tasks may request them.
func droppedCaps(s container.Spec) []string {
	out := slices.Clone(s.DropCaps)
	for _, name := range []string{"MKNOD", "NET_RAW"} {
		if !slices.ContainsFunc(s.AddCaps, func(added string) bool {
			added = strings.TrimPrefix(strings.ToUpper(added), "CAP_")
			return added == name || added == "ALL"
		}) {
			out = append(out, name)
		}
	}
	return out
}

func ownNetwork(m engine.NetworkMode) bool {
	return !m.IsHost() && !m.IsNone() && !m.IsContainer()
}

func labelsOf(s container.Spec) map[string]string {
	ids := make([]string, len(s.SlotIDs))
	for i, id := range s.SlotIDs {
		ids[i] = strconv.Itoa(int(id))
	}
	return map[string]string{
		labelType: s.Type, labelID: s.ID, labelAgent: s.Agent, labelCluster: s.Cluster,
		labelAllocation: s.Allocation, labelDescription: s.Description, labelDevices: strings.Join(ids, ","),
	}
}

func portsOf(s container.Spec) (network.PortSet, network.PortMap, error) {
	exposed, published := network.PortSet{}, network.PortMap{}
	for _, n := range s.Ports {
		p, ok := network.PortFrom(uint16(n), network.TCP)
		if !ok || n < 1 || n > 65535 {
			return nil, nil, fmt.Errorf("port %d: must be between 1 and 65535", n)
		}
		exposed[p] = struct{}{}
		if ownNetwork(engine.NetworkMode(s.NetworkMode)) {
			published[p] = []network.PortBinding{{}} // any free port of the host
		}
	}
	return exposed, published, nil
}

func mountsOf(mounts []container.Mount) []mount.Mount {
	out := make([]mount.Mount, len(mounts))
	for i, m := range mounts {
		out[i] = mount.Mount{Type: mount.TypeBind, Source: m.HostPath, Target: m.ContainerPath, ReadOnly: m.ReadOnly}
		if m.Propagation != "" {
			out[i].BindOptions = &mount.BindOptions{Propagation: mount.Propagation(m.Propagation)}
		}
	}
	return out
}

// giveDevices passes through host devices and GPUs. NVIDIA GPUs use the engine's device driver. AMD
// GPUs share device files, and environment variables select those of the task.
func giveDevices(res *engine.Resources, s container.Spec) {
	for _, d := range s.Devices {
		addDevice(res, d)
	}
	if len(s.GPUs) == 0 {
		return
	}
	switch s.GPUVendor {
	case container.NVIDIA:
		res.DeviceRequests = []engine.DeviceRequest{{
			Driver: "nvidia", DeviceIDs: s.GPUs,
			Capabilities: [][]string{{"gpu", "compute", "utility", "graphics", "video"}},
		}}
	case container.AMD:
		addDevice(res, container.Device{HostPath: "/dev/kfd"})
		addDevice(res, container.Device{HostPath: "/dev/dri"})
	}
}

func addDevice(res *engine.Resources, d container.Device) {
	m := engine.DeviceMapping{PathOnHost: d.HostPath, PathInContainer: d.ContainerPath, CgroupPermissions: d.Mode}
	if m.PathInContainer == "" {
		m.PathInContainer = d.HostPath
	}
	if m.CgroupPermissions == "" {
		m.CgroupPermissions = "rwm"
	}
	res.Devices = append(res.Devices, m)
}
