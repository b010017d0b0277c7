package server

import (
	"context"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/checkpoint/view"
)

// What others see of a task: its name, its owner, its state and its resources, and
// its log unless logs are private. Its configuration, its environment and its files
// hold what people put there, passwords among it; they are for the owner and for
// administrators.

// owns says whether a task is the caller's to read.
func (c *call) owns(owner int32) bool {
	return c.user.GetAdmin() || c.user.GetId() == owner
}

// checkLogReader refuses a log that is not for the caller. What a token inside a task
// reaches is what its user has started, whatever the cluster shows to people.
func (l *logCalls) checkLogReader(ctx context.Context, c *call, task string) error {
	owner, err := l.cfg.Logs.Owner(ctx, task)
	if err != nil || c.owns(owner) || (!l.cfg.PrivateLogs && c.inTask == "") {
		return err
	}
	return status.New(status.PermissionDenied, "the log of task %s is for its owner and administrators", task)
}

// commandFor is a command as the caller may see it. The message belongs to others.
func (c *call) commandFor(in *apiv1.GetCommandResponse) *apiv1.GetCommandResponse {
	if c.owns(in.GetCommand().GetUserId()) {
		return in
	}
	return &apiv1.GetCommandResponse{Command: in.GetCommand(), Config: shownToAll(in.GetConfig())}
}

// shownToAll is what everybody may see of a configuration: how much of the cluster
// the task takes.
func shownToAll(cfg *structpb.Struct) *structpb.Struct {
	out := map[string]*structpb.Value{}
	given := cfg.GetFields()["resources"].GetStructValue().GetFields()
	for _, key := range []string{"slots", "resource_pool", "priority", "weight", "max_slots"} {
		if v, found := given[key]; found {
			out[key] = v
		}
	}
	return &structpb.Struct{Fields: map[string]*structpb.Value{
		"resources": structpb.NewStructValue(&structpb.Struct{Fields: out}),
	}}
}

// taskFor is a task as the caller may see it. The message belongs to others.
func (t *taskCalls) taskFor(c *call, in *apiv1.GetTaskResponse) (*apiv1.GetTaskResponse, error) {
	owner, err := t.cfg.Tasks.Owner(c.Context(), in.GetTask().GetTaskId())
	if err != nil || c.owns(owner) {
		return in, err
	}
	out := proto.CloneOf(in)
	out.Task.Config = nil
	return out, nil
}

// checkFilesReader refuses the files of another user's task.
func (t *taskCalls) checkFilesReader(c *call, task string) error {
	if c.allocation != "" {
		return c.ownTask(task)
	}
	owner, err := t.cfg.Tasks.Owner(c.Context(), task)
	if err != nil || c.owns(owner) {
		return err
	}
	return status.New(status.PermissionDenied, "the files of task %s are for its owner and administrators", task)
}

// hideExperiment takes out of x what is for its owner and administrators: what was
// submitted as it was written, and the variables of its containers.
func (c *call) hideExperiment(x *apiv1.Experiment) {
	if x == nil || c.allocation != "" || c.owns(x.GetUserId()) {
		return
	}
	x.OriginalConfig = ""
	x.Config = view.WithoutVariables(x.GetConfig())
}

// hideWorkload removes from a checkpoint of a trial what its owner and administrators alone may read.
func (c *call) hideWorkload(owner int32, m *apiv1.CheckpointWorkload) {
	if m != nil && !c.owns(owner) {
		m.Metadata, m.Resources = &structpb.Struct{}, nil
	}
}

// hideVersion removes from a version of a model what the caller may not read of its checkpoint.
func (m *modelCalls) hideVersion(c *call, v *apiv1.ModelVersion) error {
	if v.GetCheckpoint() == nil || m.cfg.Checkpoints == nil {
		return nil
	}
	return m.cfg.Checkpoints.HideContent(c.Context(), c.user, v.GetCheckpoint())
}
