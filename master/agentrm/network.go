package agentrm

import (
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"strings"
)

// highestPort is the highest port number.
const highestPort = 65535

// portsOfKind is the number of ports from which a cluster takes its first one. Determined reserves as many
// for notebooks and for TensorBoards.
const portsOfKind = 300

// firstPort returns the number that a cluster adds to all bases. It makes it unlikely that two clusters,
// which do not know of each other, use the same port of one machine.
func firstPort(clusterID string) int {
	return int(crc32.ChecksumIEEE([]byte(clusterID)) % portsOfKind)
}

// choosePorts returns a free number at or above each base plus first, all different. If there is no free
// number for a base, it returns the base.
func choosePorts(bases []int, first int, used map[int]bool) []int {
	var out []int
	mine := make(map[int]bool)
	for _, base := range bases {
		n := base + first
		for n <= highestPort && (used[n] || mine[n]) {
			n++
		}
		if n > highestPort {
			n = base
		}
		mine[n] = true
		out = append(out, n)
	}
	return out
}

// portsNear returns the reserved ports, and those of other allocations on the machines of a. The caller
// holds mu.
func (s *state) portsNear(a *allocation) map[int]bool {
	used := make(map[int]bool)
	if len(a.Ports) == 0 {
		return used
	}
	for _, n := range s.cfg.ReservedPorts {
		used[n] = true
	}
	for _, agent := range s.agents {
		if !s.sharesMachine(a, agent) {
			continue
		}
		for _, c := range agent.containers {
			for _, n := range c.allocation.ports {
				used[n] = true
			}
		}
	}
	return used
}

// sharesMachine reports whether an agent may be on a machine of an allocation.
func (s *state) sharesMachine(a *allocation, agent *agent) bool {
	return slices.ContainsFunc(a.containers, func(c *container) bool {
		return c.agent == agent.id || sameMachine(s.agents[c.agent], agent)
	})
}

// sameMachine reports whether two agents may be on one machine. If one of them does not report its
// machine, they may be if they share an address, as seen by the master or as reported.
func sameMachine(a, b *agent) bool {
	if a == nil || b == nil {
		return false
	}
	if a.machine != "" && b.machine != "" {
		return a.machine == b.machine
	}
	return a.address != "" && a.address == b.address || a.own != "" && a.own == b.own
}

// interfaceOf returns the network interface of an allocation's pool, or "".
func (s *state) interfaceOf(a *allocation) string {
	if a.Entry == nil {
		return ""
	}
	p, _ := s.cfg.findPool(a.Pool)
	return p.Interface
}

// checkInterfaces returns an error if a machine of an allocation lacks the interface by which its
// containers reach each other. Agents that report no interfaces are of an earlier version, or not
// connected.
func (r *runner) checkInterfaces(a *allocation) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := r.interfaceOf(a)
	if name == "" || len(a.containers) < 2 {
		return nil
	}
	for _, c := range a.containers {
		agent := r.agents[c.agent]
		if agent == nil || len(agent.interfaces) == 0 || agent.interfaces[name] != "" {
			continue
		}
		return fmt.Errorf("agent %s has no address on the network interface %s (task_container_defaults.dtrain_network_interface of pool %s); its interfaces are %s",
			agent.id, name, a.Pool, strings.Join(slices.Sorted(maps.Keys(agent.interfaces)), ", "))
	}
	return nil
}
