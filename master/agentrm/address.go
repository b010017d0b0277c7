package agentrm

import "net/netip"

// hostOn is where the containers of an allocation on other agents find one on a. That is
// where its link comes from, unless that is loopback or another agent's address too, as
// behind a balancer or NAT: then it is what the agent says itself, if it says anything.
// r.mu is held.
func (r *RM) hostOn(a *agent, of *allocation) string {
	if a.own == "" || !isLoopback(a.address) && !r.sharesAddress(a, of) {
		return a.address
	}
	return a.own
}

func (r *RM) sharesAddress(a *agent, of *allocation) bool {
	for _, c := range of.containers {
		if other := r.agents[c.agent]; c.agent != a.id && other != nil && other.address == a.address {
			return true
		}
	}
	return false
}

// ownAddress is what an agent says of itself, empty for what leads to no one machine.
func ownAddress(said string) string {
	ip, err := netip.ParseAddr(said)
	if err != nil || ip.Zone() != "" || !ip.IsGlobalUnicast() {
		return ""
	}
	return ip.String()
}

func isLoopback(address string) bool {
	ip, err := netip.ParseAddr(address)
	return err == nil && ip.Unmap().IsLoopback()
}
