package experiment

import (
	"fmt"
	"strconv"
	"time"

	"github.com/det-deploy/det-deploy/master/experiment/change"
	"github.com/det-deploy/det-deploy/master/experiment/config"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task"
	tasklife "github.com/det-deploy/det-deploy/master/task/lifecycle"
)

// defaultPreemptionTimeout is how long a trial may take to save itself when no setting says, as in
// Determined 0.38.1.
const defaultPreemptionTimeout = time.Hour

func settingsOf(x *change.Experiment) settings {
	return settings{Experiment: x.Record, order: orderOf(x.Record, x.Config)}
}

// orderOf is what the tasks of all trials of an experiment have in common.
func orderOf(x record.Experiment, c config.Experiment) task.StartOrder {
	o := task.StartOrder{
		Kind: tasklife.Trial, Job: rm.JobID(x.JobID), JobName: x.Name, Entity: strconv.Itoa(int(x.ID)), UserID: x.UserID, Username: x.Username, Unix: x.Unix,
		Submitted: x.Started, Pool: x.Queue.Pool, Slots: x.Queue.Slots, Priority: x.Queue.Priority, Weight: x.Queue.Weight,
		Preemptible: true, PreemptionTimeout: defaultPreemptionTimeout, PodSpec: c.Environment.PodSpec.JSON(),
	}
	if x.Queue.MaxSlots != nil {
		o.MaxSlots = *x.Queue.MaxSlots
	}
	if c.PreemptionTimeout != nil {
		// An experiment of an earlier version may have more.
		o.PreemptionTimeout = min(time.Duration(*c.PreemptionTimeout), config.MaxPreemptionTimeout)
	}
	if c.Resources.IsSingleNode != nil {
		o.SingleNode = *c.Resources.IsSingleNode
	}
	return o
}

// startOrder is what the task of one trial is started with.
func (s settings) startOrder(t record.Trial) task.StartOrder {
	o := s.order
	o.Task, o.Run, o.Workspace = rm.TaskID(t.Task()), t.Life.Run, s.workspace
	o.Name = fmt.Sprintf("Trial %d (Experiment %d)", t.ID, s.ID)
	for _, node := range t.Life.Excluded {
		o.Excluded = append(o.Excluded, rm.AgentID(node))
	}
	if t.Life.Run == 1 {
		o.Warnings = s.Warnings
	}
	return o
}

// workspaceOf is the workspace of a project.
func (s *shared) workspaceOf(project int32) (int32, error) {
	p, err := s.cfg.Places.Project(project)
	return p.WorkspaceID, err
}
