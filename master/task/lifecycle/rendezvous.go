package lifecycle

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/master/rm"
)

// Rendezvous is the information with which the containers of an allocation reach each other.
type Rendezvous struct {
	// Addresses and Slots are those of all containers, by rank.
	Addresses []string
	Slots     []int
	// Rank is the rank of the requesting container.
	Rank int
}

// Meet records that a container asked for the addresses of the others.
func (a Allocation) Meet(id rm.ContainerID) Allocation {
	i := slices.IndexFunc(a.Containers, func(c Container) bool { return c.ID == id })
	if i < 0 || a.Over() || a.Containers[i].Met {
		return a
	}
	a.Containers = slices.Clone(a.Containers)
	a.Containers[i].Met = true
	return a
}

// Rendezvous returns the addresses of all containers for one of them. It is complete when all have
// asked, so that none begins before the others are ready. It returns an error if it can never be
// complete.
func (a Allocation) Rendezvous(of rm.ContainerID) (r Rendezvous, complete bool, err error) {
	all := a.byRank()
	at := slices.IndexFunc(all, func(c Container) bool { return c.ID == of })
	if at < 0 {
		return r, false, fmt.Errorf("allocation %s has no container %s", a.ID, of)
	}
	r.Rank, complete = all[at].Rank, true
	for _, c := range all {
		if c.State == ContainerTerminated && (c.Host == "" || !c.Met) {
			return r, false, fmt.Errorf("the container of rank %d ended before all containers of allocation %s were ready", c.Rank, a.ID)
		}
		complete = complete && c.Host != "" && c.Met
		r.Addresses, r.Slots = append(r.Addresses, c.Host), append(r.Slots, len(c.Devices))
	}
	if !complete && (a.Over() || a.Killed != nil) {
		return r, false, fmt.Errorf("allocation %s was ended before all of its containers were ready", a.ID)
	}
	if complete {
		err = checkReachable(all)
	}
	return r, complete && err == nil, err
}

func (a Allocation) byRank() []Container {
	return slices.SortedFunc(slices.Values(a.Containers), func(x, y Container) int { return cmp.Compare(x.Rank, y.Rank) })
}

// maxMissing is the number of missing containers that a line names.
const maxMissing = 8

// NoteMissing adds a line to the task's log that names the containers that the others wait for, unless
// it is the same as the last one.
func (a Allocation) NoteMissing(at time.Time) Allocation {
	var names []string
	for _, c := range a.byRank() {
		if !c.Met {
			names = append(names, fmt.Sprintf("rank %d on %s (%s)", c.Rank, c.Agent, c.describeAbsence()))
		}
	}
	n := len(names)
	if n == 0 || n == len(a.Containers) || a.Over() || a.Killed != nil {
		return a
	}
	if n > maxMissing {
		names = append(names[:maxMissing], fmt.Sprintf("%d more", n-maxMissing))
	}
	missed := strings.Join(names, ", ")
	if missed == a.Missed {
		return a
	}
	a.Missed = missed
	a.addMessage(at, levelWarning, "%d of %d containers are waiting for the others: %s", len(a.Containers)-n, len(a.Containers), missed)
	return a
}

// describeAbsence returns why a container has not asked for the others yet.
func (c Container) describeAbsence() string {
	switch c.State {
	case ContainerAssigned:
		return "not started"
	case ContainerPulling:
		return "pulling its image"
	case ContainerStarting:
		return "starting"
	case ContainerRunning:
		return "running; its startup hook may not have ended"
	case ContainerTerminated:
	}
	return "ended"
}

// checkReachable returns an error if containers on several agents cannot reach each other. Containers on
// one machine share its addresses, including loopback, and use different ports.
func checkReachable(all []Container) error {
	first := map[string]Container{}
	several := slices.ContainsFunc(all, func(c Container) bool { return c.Agent != all[0].Agent && !onOneMachine(c, all[0]) })
	for _, c := range all {
		other, known := first[c.Host]
		switch {
		case several && isLoopback(c.Host):
			return fmt.Errorf("agent %s is only known by its loopback address %s, at which other machines cannot reach the container of rank %d; "+
				"connect it to the master through an address of its network", c.Agent, c.Host, c.Rank)
		case !known:
			first[c.Host] = c
		case other.Agent != c.Agent && !onOneMachine(other, c):
			return fmt.Errorf("agents %s and %s are both known by the address %s, at which the containers of rank %d and %d cannot both be reached; "+
				"connect each to the master from a different address", other.Agent, c.Agent, c.Host, other.Rank, c.Rank)
		}
	}
	return nil
}

func onOneMachine(a, b Container) bool { return a.Machine != "" && a.Machine == b.Machine }

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
