package task

import (
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
	"github.com/det-deploy/det-deploy/master/task/spec"
)

// kind holds the properties of one kind of task, a row of the table below. The rest of this package is
// the same for all kinds.
type kind struct {
	// noun names the kind in errors: "command".
	noun string
	// title begins the generated name of a task without a description.
	title string
	// entrypoint is the program of all tasks of the kind; nil if each has its own.
	entrypoint spec.Entrypoint
	// ready and waiting are the texts that its program prints when it serves people, and while it has nothing
	// to show; empty if it reports that by itself.
	ready, waiting string
	// slotless reports that its tasks use no slots.
	slotless bool
	// waits reports that its program only waits for people: it is ready as soon as it runs.
	waits bool
	// takesData reports whether a submission may have data besides its configuration.
	takesData bool

	// forks reports that users fork its tasks, ended ones too.
	forks bool

	// owned reports whether the tasks have an Owner.
	owned bool

	// Types in the resource manager, the API and the queue.
	jobType  apiv1.Job_Type
	taskType apiv1.TaskType
	// singleNode keeps all slots on one machine, because a single program cannot use two.
	singleNode bool
	// choosesNodes reports that a task's configuration says whether it needs a single machine.
	choosesNodes bool
	// fixedPaths reports that its program, the client's library, reads files at fixed paths.
	fixedPaths bool
	// ports are the ports at which the programs of its containers listen for each other.
	ports []spec.Port
	// settings are the settings without an effect on most kinds that have one on this kind.
	settings []string
	// complete checks and completes a configuration, beyond what is the same for all kinds; nil if nothing
	// is. prepare sets the fields of a new task that only this kind has; nil for none.
	complete func(Config, *spec.Config) error
	prepare  func(spec.Config, *lifecycle.Task)
	// files returns the files that its program needs; nil for none.
	files func(lifecycle.Task, []spec.Port) []*apiv1.File

	// serves reports that the first of ports is its default service, as in Determined 0.38.1.
	serves bool
	// job returns the job of a task in the queue.
	job func(lifecycle.Task) rm.JobID

	// proxyPorts returns the ports that the master proxies; nil if the kind has none.
	proxyPorts func(spec.Config) []spec.ProxyPort
	// rerun reports whether another allocation follows one that was preempted.
	rerun func(lifecycle.Task) bool
}

// kindOf returns the properties of a kind. A new kind needs one row here, and its calls in the API.
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
	case lifecycle.Notebook:
		return notebookKind()
	case lifecycle.Shell:
		return kind{
			noun: "shell", title: "Shell", waits: true, entrypoint: waitForPeople(),
			prepare: func(_ spec.Config, t *lifecycle.Task) { t.SSHSeed = newSSHSeed() },
			jobType: apiv1.Job_TYPE_SHELL, taskType: apiv1.TaskType_TASK_TYPE_SHELL, singleNode: true,
			job:        func(t lifecycle.Task) rm.JobID { return rm.JobID(t.ID) },
			proxyPorts: func(c spec.Config) []spec.ProxyPort { return c.Environment.ProxyPorts },
			rerun:      func(t lifecycle.Task) bool { return t.Preemptible },
		}
	case lifecycle.TensorBoard:
		return kind{
			noun: "tensorboard", title: "TensorBoard", entrypoint: spec.Entrypoint{"tensorboard"}, slotless: true,
			ready: "TensorBoard contains metrics", waiting: "TensorBoard is waiting for metrics",
			settings: []string{"idle_timeout", "tensorboard_args"},
			complete: func(cluster Config, c *spec.Config) error { return c.CompleteTimeout(cluster.TensorBoardTimeout) },
			prepare:  func(c spec.Config, t *lifecycle.Task) { t.IdleTimeout = time.Duration(*c.IdleTimeout) },
			jobType:  apiv1.Job_TYPE_TENSORBOARD, taskType: apiv1.TaskType_TASK_TYPE_TENSORBOARD, singleNode: true,
			fixedPaths: true, ports: []spec.Port{{Variable: "TENSORBOARD_PORT", Base: 2600}}, serves: true,
			job:        func(t lifecycle.Task) rm.JobID { return rm.JobID(t.ID) },
			proxyPorts: func(c spec.Config) []spec.ProxyPort { return c.Environment.ProxyPorts },
			rerun:      func(t lifecycle.Task) bool { return t.Preemptible },
		}
	case lifecycle.Generic:
		return kind{
			noun: "generic task", title: "Generic task", forks: true,
			jobType: apiv1.Job_TYPE_GENERIC, taskType: apiv1.TaskType_TASK_TYPE_GENERIC, choosesNodes: true, ports: spec.TrialPorts(),
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

// waitForPeople returns a program that ends when it is asked to. Any image with a shell has it.
func waitForPeople() spec.Entrypoint {
	return spec.Entrypoint{"/bin/sh", "-c", "trap 'exit 0' TERM INT; while :; do sleep 3600 & wait $!; done"}
}

func ownedJob(t lifecycle.Task) rm.JobID { return t.Job }

// neverRerun leaves the decision to the owner.
func neverRerun(lifecycle.Task) bool { return false }
