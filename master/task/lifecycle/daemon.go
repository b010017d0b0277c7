package lifecycle

import (
	"slices"

	"github.com/det-deploy/det-deploy/master/rm"
)

// onlyDaemons is why what is left of an allocation is ended when the others are done.
const onlyDaemons = "only daemons are left"

// MarkDaemon notes that the allocation does not wait for a container's end.
func (a Allocation) MarkDaemon(id rm.ContainerID) Allocation {
	i := slices.IndexFunc(a.Containers, func(c Container) bool { return c.ID == id })
	if i < 0 || a.Over() || a.Containers[i].Daemon {
		return a
	}
	a.Containers = slices.Clone(a.Containers)
	a.Containers[i].Daemon = true
	return a
}

// leavesDaemons says that all but daemons have ended: daemons end then, however that is,
// and say nothing of how the allocation has ended.
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
