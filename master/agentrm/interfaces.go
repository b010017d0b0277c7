package agentrm

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// interfaceOf is the network interface of an allocation's pool, empty for none.
func (s *state) interfaceOf(a *allocation) string {
	if a.Entry == nil {
		return ""
	}
	p, _ := s.cfg.findPool(a.Pool)
	return p.Interface
}

// checkInterfaces says which of an allocation's machines lack the interface by which their
// containers are to find each other. Agents that report no interfaces are of an earlier
// version, or not connected.
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
		return fmt.Errorf("agent %s has no address on the network interface %s, which task_container_defaults.dtrain_network_interface of pool %s names; it has %s",
			agent.id, name, a.Pool, strings.Join(slices.Sorted(maps.Keys(agent.interfaces)), ", "))
	}
	return nil
}
