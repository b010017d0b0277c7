package task

import (
	"slices"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// The type bytes of apiv1.File, as in a tar header.
const (
	tarFile    = '0'
	tarDir     = '5'
	tarSymlink = '2'
)

const (
	hookPath = "/run/determined/agent-startup-hook.sh"
	certPath = "/run/determined/etc/ssl/master.crt"
)

// runHook runs the startup hook in the shell that then executes the program, so that exported
// variables are inherited. If a command of the hook fails, the task exits with its code. Hooks are
// written for bash if it is installed.
const runHook = `s=/bin/sh; [ -x /bin/bash ] && s=/bin/bash; h=$1; shift; exec "$s" -c 'set -e; . "$0"; set +e; exec "$@"' "$h" "$@"`

// specOf converts an order into a container spec.
func specOf(o *agentv1.Start, h Host) container.Spec {
	s := o.GetSpec()
	devices := h.devicesOfIDs(o.GetDeviceIds())
	spec := container.Spec{
		ID: o.GetContainerId(), Allocation: o.GetAllocationId(),
		Agent: h.AgentID, Cluster: h.ClusterID,
		Type: s.GetTaskType(), Description: s.GetDescription(),
		Image: s.GetImage(), ForcePull: s.GetForcePullImage(), Auth: authOf(s.GetRegistryAuth()),
		Command: s.GetEntrypoint(), Env: append(h.environOf(o, devices), s.GetEnvironment()...),
		WorkDir: s.GetWorkDir(), Files: filesOf(s.GetFiles()), Mounts: mountsOf(s.GetMounts()), Devices: devicesOf(s.GetDevices()),
		Memory: s.GetPolicy().GetMaxMemory(), Processes: s.GetPolicy().GetMaxProcesses(),
		SlotIDs: o.GetDeviceIds(), ShmSize: s.GetShmSize(), NetworkMode: h.networkOf(s),
		AddCaps: s.GetAddCapabilities(), DropCaps: s.GetDropCapabilities(),
		HostGateway: h.gatewayName(), FixedPaths: s.GetFixedPaths(),
		Unset: unsetOf(s.GetUnset()),
	}
	spec.GPUs, spec.GPUVendor = gpusOf(devices)
	for _, p := range s.GetPorts() {
		spec.Ports = append(spec.Ports, int(p.GetPort()))
	}
	if u := s.GetUser(); u != nil {
		spec.User = &container.User{UID: int(u.GetUid()), GID: int(u.GetGid())}
	}
	spec.Files = append(spec.Files, infoFiles(spec)...)
	if len(h.MasterCert) > 0 {
		spec.Files = append(spec.Files, container.File{Path: certPath, Content: h.MasterCert, Mode: 0o644})
	}
	if hook := s.GetStartupHook(); hook != "" {
		spec.Files = append(spec.Files, container.File{Path: hookPath, Content: []byte(hook), Mode: 0o755})
		spec.Command = append([]string{"/bin/sh", "-c", runHook, "startup-hook", hookPath}, spec.Command...)
	}
	return spec
}

func unsetOf(all []agentv1.Spec_Setting) container.Unset {
	return container.Unset{
		Image:       slices.Contains(all, agentv1.Spec_SETTING_IMAGE),
		ShmSize:     slices.Contains(all, agentv1.Spec_SETTING_SHM_SIZE),
		NetworkMode: slices.Contains(all, agentv1.Spec_SETTING_NETWORK_MODE),
	}
}

// infoFiles returns the files with the cluster and resource information for programs in the task.
// One contains the task's token, so only the task's user can read them.
func infoFiles(s container.Spec) []container.File {
	files := []container.File{
		{Path: agentv1.ClusterInfoPath, Content: agentv1.ClusterInfo(s.Env), Mode: 0o600},
		{Path: agentv1.ResourcesInfoPath, Content: agentv1.ResourcesInfo(s.GPUs), Mode: 0o600},
	}
	for i := range files {
		if s.User != nil {
			files[i].UID, files[i].GID = s.User.UID, s.User.GID
		}
	}
	return files
}

func authOf(a *agentv1.RegistryAuth) container.Auth {
	return container.Auth{
		Username: a.GetUsername(), Password: a.GetPassword(), Auth: a.GetAuth(), Email: a.GetEmail(),
		ServerAddress: a.GetServerAddress(), IdentityToken: a.GetIdentityToken(), RegistryToken: a.GetRegistryToken(),
	}
}

func filesOf(files []*apiv1.File) []container.File {
	out := make([]container.File, len(files))
	for i, f := range files {
		out[i] = container.File{
			Path: f.GetPath(), Dir: f.GetType() == tarDir, Content: f.GetContent(), Mode: f.GetMode(),
			UID: int(f.GetUid()), GID: int(f.GetGid()),
		}
		if f.GetType() == tarSymlink {
			out[i].Link, out[i].Content = string(f.GetContent()), nil
		}
		if f.GetMtime() > 0 {
			out[i].ModTime = time.Unix(f.GetMtime(), 0)
		}
	}
	return out
}

func mountsOf(mounts []*agentv1.Mount) []container.Mount {
	out := make([]container.Mount, len(mounts))
	for i, m := range mounts {
		out[i] = container.Mount{
			HostPath: m.GetHostPath(), ContainerPath: m.GetContainerPath(),
			ReadOnly: m.GetReadOnly(), Propagation: m.GetPropagation(),
		}
	}
	return out
}

func devicesOf(devices []*agentv1.HostDevice) []container.Device {
	out := make([]container.Device, len(devices))
	for i, d := range devices {
		out[i] = container.Device{HostPath: d.GetHostPath(), ContainerPath: d.GetContainerPath(), Mode: d.GetMode()}
	}
	return out
}

// gpusOf returns the GPUs among the devices. A machine has GPUs of one vendor.
func gpusOf(devices []*apiv1.Device) (uuids []string, v container.Vendor) {
	for _, d := range devices {
		switch d.GetType() {
		case apiv1.Device_TYPE_CUDA:
			v = container.NVIDIA
		case apiv1.Device_TYPE_ROCM:
			v = container.AMD
		default:
			continue
		}
		uuids = append(uuids, d.GetUuid())
	}
	return uuids, v
}

// refuseOrder returns the reason why an order is invalid for this agent, or "".
func refuseOrder(o *agentv1.Start, h Host) string {
	for _, id := range o.GetDeviceIds() {
		if !h.hasDevice(id) {
			return "this agent has no slot " + formatID(id)
		}
	}
	for _, f := range o.GetSpec().GetFiles() {
		switch f.GetType() {
		case 0, tarFile, tarDir, tarSymlink:
		default:
			return "file " + f.GetPath() + ": only files, directories and symbolic links can be created in a container"
		}
	}
	if o.GetSpec().GetStartupHook() != "" && len(o.GetSpec().GetEntrypoint()) == 0 {
		return "a startup hook requires an entrypoint"
	}
	if strings.TrimSpace(o.GetAllocationId()) == "" {
		return "the order has no allocation ID"
	}
	return ""
}
