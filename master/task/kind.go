package task

import (
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
	"github.com/det-deploy/det-deploy/master/task/spec"
)

// kind is what one kind of task has of its own: a row of the table below. Everything
// else in this package is the same for all of them.
type kind struct {
	// noun names one in errors: "command".
	noun string
	// title begins the name of a task that its user did not name.
	title string
	// takesData says that a submission may have data besides its configuration.
	takesData bool

	// owned says that an Owner decides about it.
	owned bool

	// How the resource manager, clients and the queue know it.
	jobType  apiv1.Job_Type
	taskType apiv1.TaskType
	// singleNode keeps its slots on one machine: one program on two would run twice.
	singleNode bool
	// fixedPaths says that its program, the client's library, reads files at fixed paths.
	fixedPaths bool
	// ports are those that its containers' programs listen at for each other.
	ports []spec.Port
	// job is the job that the queue orders.
	job func(lifecycle.Task) rm.JobID

	// proxyPorts are the ports that the master serves of it; nil where it serves none.
	proxyPorts func(spec.Config) []spec.ProxyPort
	// rerun says whether another allocation follows one that was preempted.
	rerun func(lifecycle.Task) bool
}

// kindOf is the row of a kind. A new kind is one row, and its calls in the API.
func kindOf(k lifecycle.Kind) kind {
	switch k {
	case lifecycle.Command:
		return kind{
			noun: "command", title: "Command",
			jobType: apiv1.Job_TYPE_COMMAND, taskType: apiv1.TaskType_TASK_TYPE_COMMAND, singleNode: true,
			job:        func(t lifecycle.Task) rm.JobID { return rm.JobID(t.ID) },
			proxyPorts: func(c spec.Config) []spec.ProxyPort { return c.Environment.ProxyPorts },
			rerun:      func(t lifecycle.Task) bool { return t.Preemptible },
		}
	case lifecycle.Trial:
		return kind{
			noun: "trial", title: "Trial", owned: true,
			jobType: apiv1.Job_TYPE_EXPERIMENT, taskType: apiv1.TaskType_TASK_TYPE_TRIAL,
			fixedPaths: true, ports: spec.TrialPorts(), job: ownedJob, rerun: neverRerun,
		}
	case lifecycle.CheckpointGC:
		return kind{
			noun: "checkpoint deletion", title: "Checkpoint GC", owned: true, singleNode: true, fixedPaths: true,
			jobType: apiv1.Job_TYPE_CHECKPOINT_GC, taskType: apiv1.TaskType_TASK_TYPE_CHECKPOINT_GC,
			job: ownedJob, rerun: neverRerun,
		}
	}
	return kind{}
}

func ownedJob(t lifecycle.Task) rm.JobID { return t.Job }

// neverRerun leaves what follows to the owner.
func neverRerun(lifecycle.Task) bool { return false }
