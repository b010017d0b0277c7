package task

import (
	"context"
	"slices"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
)

// Entrance leads into a running container of a task.
type Entrance struct {
	rm.Streams
	Container rm.ContainerID
}

// Enter returns the entrance to the container of a rank of a task of any kind. The errors have the codes
// NotFound for an unknown task or rank, PermissionDenied for users other than its owner and
// administrators, FailedPrecondition for a container that does not run, and Unavailable.
func (o *owners) Enter(ctx context.Context, by *apiv1.User, id string, rank int) (Entrance, error) {
	e, found, err := o.findTask(ctx, rm.TaskID(id))
	if err == nil && !found {
		err = status.Missing("task", id)
	}
	if err != nil {
		return Entrance{}, err
	}
	s := e.latestSnapshot()
	if err := checkAllowed(by, s.task, "enter"); err != nil {
		return Entrance{}, err
	}
	c, err := runningContainer(s, rank)
	if err != nil {
		return Entrance{}, err
	}
	manager := o.reg.managerOf()
	if manager == nil {
		return Entrance{}, errStarting()
	}
	streams, ok := manager.(rm.Streams)
	if !ok {
		return Entrance{}, status.New(status.Unimplemented, "the machines of this cluster cannot be entered")
	}
	return Entrance{Streams: streams, Container: c}, nil
}

// runningContainer returns the container of a rank, or an error if it does not run.
func runningContainer(s snapshot, rank int) (rm.ContainerID, error) {
	if s.hasEnded() {
		return "", status.New(status.FailedPrecondition, "task %s has ended", s.task.ID)
	}
	all := s.currentAllocation().Containers
	if len(all) == 0 {
		return "", status.New(status.FailedPrecondition, "task %s does not run yet", s.task.ID)
	}
	i := slices.IndexFunc(all, func(c lifecycle.Container) bool { return c.Rank == rank })
	if i < 0 {
		return "", status.New(status.NotFound, "task %s has no process of rank %d; its ranks are 0 to %d", s.task.ID, rank, len(all)-1)
	}
	switch all[i].State {
	case lifecycle.ContainerRunning:
		return all[i].ID, nil
	case lifecycle.ContainerTerminated:
		return "", status.New(status.FailedPrecondition, "the process of rank %d of task %s has ended", rank, s.task.ID)
	default:
		return "", status.New(status.FailedPrecondition, "the process of rank %d of task %s does not run yet", rank, s.task.ID)
	}
}
