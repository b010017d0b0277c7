package spec

import (
	"slices"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/master/config/security"
	"github.com/det-deploy/det-deploy/master/policy"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/token"
)

// Program is the program that the containers of a task run, for any kind of task.
type Program struct {
	// Config includes the defaults of cluster and pool.
	Config Config
	// Argv is the command to execute; nil selects the configuration's entrypoint.
	Argv []string
	// Variables come after those that every task has and before the user's.
	Variables []string
	// Files are created before the program starts, in addition to those that every task has.
	Files []*apiv1.File
	// HasContext reports that the task has files in its work directory, HasHook that they include
	// HookFile, which runs before the program.
	HasContext, HasHook bool
	// TrialInfo is the content of trial.json, empty if the task is not a trial.
	TrialInfo []byte
	// HostNetwork selects the network of the machine for containers that have siblings.
	HostNetwork bool
	// Storage is the mounts in which the program writes checkpoints and finds those to start from.
	Storage []*agentv1.Mount
	// FixedPaths reports that the program reads files at fixed paths, such as RunDir.
	FixedPaths bool
}

// Run has everything else that a container's spec depends on.
type Run struct {
	Program

	Defaults   container.Defaults
	Task       rm.TaskID
	Allocation rm.AllocationID
	// Type is the task's type for programs: COMMAND.
	Type string
	// Username is the task's owner.
	Username string
	// User is the Unix account to run as.
	User security.AgentUser
	// Ports are the ports at which the program listens for the allocation's other containers.
	Ports []Port
	// Session is the allocation's token, UserToken one that acts as the owner.
	Session, UserToken token.Text
	// SSHSeed is the seed of the key that the allocation's containers share; nil for none.
	SSHSeed []byte
	// Policy is the policy for the task on its machine.
	Policy policy.Policy
}

// Build returns the spec of each container, in the order of containers.
func Build(r Run, containers []rm.Container) []*agentv1.Spec {
	r.Policy = r.Policy.ForStorage(r.Storage)
	out := make([]*agentv1.Spec, len(containers))
	for i, c := range containers {
		out[i] = buildSpec(r, c)
		if r.HostNetwork && len(containers) > 1 {
			out[i].NetworkMode, out[i].Policy = "host", r.Policy.ForPeers().API()
		}
		out[i].Files = append(out[i].Files, infoFiles(r, containers)...)
	}
	return out
}

func buildSpec(r Run, c rm.Container) *agentv1.Spec {
	cfg, n := r.Config, r.Config.Environment
	kind := DeviceType(c.Devices)
	s := &agentv1.Spec{
		Description: cfg.Description, TaskType: r.Type,
		Image: imageFor(n.Image, kind), ForcePullImage: n.ForcePullImage != nil && *n.ForcePullImage,
		RegistryAuth:     authMessage(registryAuth(cfg, r.Defaults)),
		Entrypoint:       argv(r),
		Environment:      buildVariables(r, c, kind),
		WorkDir:          cfg.WorkDir,
		NetworkMode:      r.Defaults.NetworkMode,
		AddCapabilities:  n.AddCapabilities,
		DropCapabilities: n.DropCapabilities,
		User: &agentv1.User{
			Name: r.User.User, Uid: int32(r.User.UID), Group: r.User.Group, Gid: int32(r.User.GID),
		},
		Files: buildFiles(r), Context: r.HasContext,
		SessionToken: string(r.Session), StartupHook: r.Defaults.StartupHook, FixedPaths: r.FixedPaths,
		Ports: publishedPorts(n), Policy: r.Policy.API(),
	}
	if size := cfg.Resources.ShmSize; size != nil {
		s.ShmSize = int64(*size)
	}
	s.Unset = unsetSettings(s)
	for _, m := range cfg.BindMounts {
		s.Mounts = append(s.Mounts, &agentv1.Mount{
			HostPath: m.HostPath, ContainerPath: absolutePath(cfg.WorkDir, m.ContainerPath),
			ReadOnly: m.ReadOnly, Propagation: m.Propagation,
		})
	}
	s.Mounts = append(s.Mounts, r.Storage...)
	for _, d := range cfg.Resources.Devices {
		s.Devices = append(s.Devices, &agentv1.HostDevice{
			HostPath: d.HostPath, ContainerPath: d.ContainerPath, Mode: d.Mode,
		})
	}
	return s
}

// unsetSettings returns the settings that have the default value because neither the task nor its
// cluster sets them.
func unsetSettings(s *agentv1.Spec) []agentv1.Spec_Setting {
	var out []agentv1.Spec_Setting
	add := func(unset bool, of agentv1.Spec_Setting) {
		if unset {
			out = append(out, of)
		}
	}
	d := container.Default()
	add(s.GetImage() == DefaultImage, agentv1.Spec_SETTING_IMAGE)
	add(s.GetShmSize() == int64(d.ShmSize), agentv1.Spec_SETTING_SHM_SIZE)
	add(s.GetNetworkMode() == d.NetworkMode, agentv1.Spec_SETTING_NETWORK_MODE)
	return out
}

func argv(r Run) []string {
	program := r.Argv
	if program == nil {
		program = r.Config.Entrypoint.Argv()
	}
	if r.HasHook {
		return afterHook(program)
	}
	return program
}

// DeviceType returns the type of a container's devices; a container without devices computes on the CPU.
func DeviceType(devices []*apiv1.Device) apiv1.Device_Type {
	for _, d := range devices {
		if t := d.GetType(); t != apiv1.Device_TYPE_UNSPECIFIED {
			return t
		}
	}
	return apiv1.Device_TYPE_CPU
}

func imageFor(i container.Images, t apiv1.Device_Type) string {
	switch t {
	case apiv1.Device_TYPE_CUDA:
		return i.CUDA
	case apiv1.Device_TYPE_ROCM:
		return i.ROCm
	default:
		return i.CPU
	}
}

func authMessage(a *RegistryAuth) *agentv1.RegistryAuth {
	if a == nil {
		return nil
	}
	return &agentv1.RegistryAuth{
		Username: a.Username, Password: a.Password.Reveal(), Auth: a.Auth.Reveal(), Email: a.Email,
		ServerAddress: a.ServerAddress, IdentityToken: a.IdentityToken.Reveal(), RegistryToken: a.RegistryToken.Reveal(),
	}
}

// publishedPorts returns the ports to publish, without duplicates, by number.
func publishedPorts(n Environment) []*agentv1.Port {
	var out []*agentv1.Port
	for name, p := range n.Ports {
		out = append(out, &agentv1.Port{Name: name, Port: int32(p)})
	}
	for _, p := range n.ProxyPorts {
		if !slices.ContainsFunc(out, func(o *agentv1.Port) bool { return int(o.GetPort()) == p.Port }) {
			out = append(out, &agentv1.Port{Name: "proxy", Port: int32(p.Port)})
		}
	}
	slices.SortFunc(out, func(a, b *agentv1.Port) int { return int(a.GetPort() - b.GetPort()) })
	return out
}
