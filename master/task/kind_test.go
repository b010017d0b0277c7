package task

import (
	"testing"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
)

// Every row is complete; otherwise a missing function would only be found by running such a task.
func TestEveryKindOfTaskIsComplete(t *testing.T) {
	t.Parallel()
	for _, name := range []lifecycle.Kind{lifecycle.Command, lifecycle.Shell, lifecycle.Notebook, lifecycle.TensorBoard, lifecycle.Generic, lifecycle.Trial, lifecycle.CheckpointGC} {
		k := kindOf(name)
		if k.noun == "" || k.title == "" || k.job == nil || !k.owned && k.proxyPorts == nil || k.rerun == nil {
			t.Errorf("%s: got %+v, want every function and name set", name, k)
		}
		if k.taskType != apiv1.TaskType(apiv1.TaskType_value["TASK_TYPE_"+string(name)]) || k.jobType == apiv1.Job_TYPE_UNSPECIFIED {
			t.Errorf("%s: clients know it as %s and %s", name, k.taskType, k.jobType)
		}
	}
	p := &policies{&shared{cfg: Config{Tokens: noTokens{}, WorkspaceName: func(int32) string { return "w" }}}}
	r := p.requestOf(lifecycle.Task{ID: "t", Kind: lifecycle.Command}, lifecycle.Allocation{ID: "t.1"})
	if r.Job != rm.JobID("t") || r.JobType != apiv1.Job_TYPE_COMMAND || !r.SingleNode {
		t.Errorf("got a request of job %q, %s and one machine %t, want those of a command", r.Job, r.JobType, r.SingleNode)
	}
	if !r.Trusted || r.FixedPaths {
		t.Errorf("got trusted %t and fixed paths %t, want a command of an administrator", r.Trusted, r.FixedPaths)
	}
	for _, library := range []lifecycle.Kind{lifecycle.Trial, lifecycle.CheckpointGC} {
		if r := p.requestOf(lifecycle.Task{ID: "t", Kind: library}, lifecycle.Allocation{ID: "t.1"}); !r.FixedPaths {
			t.Errorf("%s: the client's library does not have its files at fixed paths", library)
		}
	}
}

// noTokens implements only Administrator.
type noTokens struct{ Tokens }

func (noTokens) Administrator(int32) bool { return true }
