package task

import (
	"net"
	"strconv"
	"strings"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// hostGateway is what a container with a network of its own calls its host.
const hostGateway = "host.docker.internal"

// Host is what tasks learn about where they run. It is a value: a new
// welcome makes a new one.
type Host struct {
	AgentID   string
	ClusterID string
	MasterID  string
	Slots     []*apiv1.Device

	// Scheme, masterHost and masterPort are the master as tasks reach it.
	Scheme     string
	MasterHost string
	MasterPort int
	// MasterCert is the CA to trust, as PEM; noVerify trusts anyone.
	MasterCert     []byte
	MasterCertName string
	NoVerify       bool
	// Proxies are KEY=VALUE.
	Proxies []string
	// Docker says that tasks may have a network of their own, and network which
	// that is for those that name none; empty is the engine's.
	Docker  bool
	Network string
}

func (h Host) hasDevice(id int32) bool { return h.deviceByID(id) != nil }

func (h Host) deviceByID(id int32) *apiv1.Device {
	for _, d := range h.Slots {
		if d.GetId() == id {
			return d
		}
	}
	return nil
}

func (h Host) devicesOfIDs(ids []int32) []*apiv1.Device {
	var out []*apiv1.Device
	for _, id := range ids {
		if d := h.deviceByID(id); d != nil {
			out = append(out, d)
		}
	}
	return out
}

// gatewayName is empty where the host's own address will do, and where the master has
// a name of its own.
func (h Host) gatewayName() string {
	if h.Docker && (isLoopback(h.MasterHost) || h.MasterHost == hostGateway) {
		return hostGateway
	}
	return ""
}

// networkOf is the network of a task: the agent's where the order names none of its
// own.
func (h Host) networkOf(s *agentv1.Spec) string {
	if mode := s.GetNetworkMode(); OwnNetwork(mode) != "" || h.Network == "" || !h.Docker {
		return mode
	}
	return h.Network
}

// environOf is the agent's part of a task's environment. The master's part
// comes after it and wins.
func (h Host) environOf(o *agentv1.Start, devices []*apiv1.Device) []string {
	master := h.MasterHost
	if mode := h.networkOf(o.GetSpec()); h.gatewayName() != "" && mode != "host" {
		master = h.gatewayName()
	}
	port := strconv.Itoa(h.MasterPort)
	env := append([]string{}, h.Proxies...)
	env = append(env,
		"DET_MASTER="+h.Scheme+"://"+net.JoinHostPort(master, port),
		"DET_MASTER_ADDR="+master,
		"DET_MASTER_HOST="+master,
		"DET_MASTER_PORT="+port,
		"DET_CLUSTER_ID="+h.ClusterID,
		"DET_MASTER_ID="+h.MasterID,
		"DET_AGENT_ID="+h.AgentID,
		"DET_CONTAINER_ID="+o.GetContainerId(),
		"DET_SLOT_IDS="+slotIDs(o.GetDeviceIds()),
		"DET_USE_TLS="+strconv.FormatBool(h.Scheme == "https"),
	)
	switch {
	case h.NoVerify:
		env = append(env, "DET_MASTER_CERT_FILE=noverify")
	case len(h.MasterCert) > 0:
		env = append(env, "DET_MASTER_CERT_FILE="+certPath)
	}
	if h.MasterCertName != "" {
		env = append(env, "DET_MASTER_CERT_NAME="+h.MasterCertName)
	}
	return append(env, h.gpuVisibility(devices)...)
}

// gpuVisibility hides the GPUs that are not the task's. UUIDs are the same inside and
// outside of a container, while indices start again at 0; AMD's are all passed through,
// so there it is indices.
func (h Host) gpuVisibility(mine []*apiv1.Device) []string {
	var t apiv1.Device_Type
	for _, d := range h.Slots {
		if d.GetType() != apiv1.Device_TYPE_CPU {
			t = d.GetType()
		}
	}
	var ids, uuids []string
	for _, d := range mine {
		ids = append(ids, formatID(d.GetId()))
		uuids = append(uuids, d.GetUuid())
	}
	switch t {
	case apiv1.Device_TYPE_CUDA:
		list := strings.Join(uuids, ",")
		if list == "" {
			return []string{"CUDA_VISIBLE_DEVICES=", "NVIDIA_VISIBLE_DEVICES=void"}
		}
		return []string{"CUDA_VISIBLE_DEVICES=" + list, "NVIDIA_VISIBLE_DEVICES=" + list}
	case apiv1.Device_TYPE_ROCM:
		return []string{"ROCR_VISIBLE_DEVICES=" + strings.Join(ids, ",")}
	default:
		return nil
	}
}

// slotIDs is a JSON list.
func slotIDs(ids []int32) string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = formatID(id)
	}
	return "[" + strings.Join(out, ",") + "]"
}

func formatID(n int32) string { return strconv.Itoa(int(n)) }

func isLoopback(name string) bool {
	ip := net.ParseIP(name)
	return name == "localhost" || ip != nil && ip.IsLoopback()
}

// OwnNetwork is empty where the engine's own will do.
func OwnNetwork(name string) string {
	if name == "default" || name == "bridge" {
		return ""
	}
	return name
}
