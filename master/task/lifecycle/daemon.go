package lifecycle

import (
	"slices"

	"github.com/det-deploy/det-deploy/master/rm"
)

// onlyDaemons is the reason why the remaining containers are ended when all others have ended.
const onlyDaemons = "only daemons are left"

// MarkDaemon records that the allocation does not wait for a container's end.
func (a Allocation) MarkDaemon(id rm.ContainerID) Allocation {
	i := slices.IndexFunc(a.Containers, func(c Container) bool { return c.ID == id })
	if i < 0 || a.Over() || a.Containers[i].Daemon {
		return a
	}
	a.Containers = slices.Clone(a.Containers)
	a.Containers[i].Daemon = true
	return a
}

// leavesDaemons reports whether all containers except for daemons have ended. Daemons are ended then,
// and their exits do not affect the outcome of the allocation.
func (a Allocation) leavesDaemons() bool {
	others := 0
	for _, c := range a.Containers {
		if c.Daemon {
			continue
		}
		others++
		if c.State != ContainerTerminated {
			return false
		}
	}
	return others > 0
}
