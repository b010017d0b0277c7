package task

import (
	"net"
	"strconv"
	"strings"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// hostGateway is the name of the host in a container with its own network.
const hostGateway = "host.docker.internal"

// Host describes the agent and master to tasks. It is immutable; each welcome creates a new one.
type Host struct {
	AgentID   string
	ClusterID string
	MasterID  string
	Slots     []*apiv1.Device

	// Scheme, MasterHost and MasterPort form the master's address as seen by tasks.
	Scheme     string
	MasterHost string
	MasterPort int
	// MasterCert is the trusted CA as PEM; NoVerify disables the verification.
	MasterCert     []byte
	MasterCertName string
	NoVerify       bool
	// Proxies is a list of KEY=VALUE.
	Proxies []string
	// Docker reports whether tasks may have their own network. Network is the default network of
	// tasks; if empty, the engine's.
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

// gatewayName returns the name of the host for containers, or "" if the master's address works in a
// container.
func (h Host) gatewayName() string {
	if h.Docker && (isLoopback(h.MasterHost) || h.MasterHost == hostGateway) {
		return hostGateway
	}
	return ""
}

// networkOf returns the network of a task: the requested one, or the agent's default.
func (h Host) networkOf(s *agentv1.Spec) string {
	if mode := s.GetNetworkMode(); OwnNetwork(mode) != "" || h.Network == "" || !h.Docker {
		return mode
	}
	return h.Network
}

// environOf returns the agent's part of a task's environment. The master's part is appended and
// takes precedence.
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

// gpuVisibility returns the variables that hide the GPUs of other tasks. UUIDs are the same inside
// and outside of a container, while indices restart at 0. AMD GPUs are all passed through, so
// indices are used.
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

// slotIDs returns a JSON list.
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

// OwnNetwork returns the name of a custom network, or "" for the engine's default.
func OwnNetwork(name string) string {
	if name == "default" || name == "bridge" {
		return ""
	}
	return name
}
