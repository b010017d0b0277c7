package server

import (
	"context"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/checkpoint/view"
)

// Other users may see a task's name, owner, state and resources, and its log unless logs are private. Its
// configuration, environment and files may contain passwords; only the owner and administrators may read
// them.

// owns reports whether the caller may read everything of an object with this owner.
func (c *call) owns(owner int32) bool {
	return c.user.GetAdmin() || c.user.GetId() == owner
}

// checkLogReader returns an error if the caller may not read a log. With a token inside a task, a user may
// read only the logs of their own tasks, independent of the cluster's settings.
func (l *logCalls) checkLogReader(ctx context.Context, c *call, task string) error {
	owner, err := l.cfg.Logs.Owner(ctx, task)
	if err != nil || c.owns(owner) || (!l.cfg.PrivateLogs && c.inTask == "") {
		return err
	}
	return status.New(status.PermissionDenied, "the log of task %s is visible only to its owner and administrators", task)
}

// commandFor returns the part of a command that the caller may see. It must not change in, which belongs
// to others.
func (c *call) commandFor(in *apiv1.GetCommandResponse) *apiv1.GetCommandResponse {
	if c.owns(in.GetCommand().GetUserId()) {
		return in
	}
	return &apiv1.GetCommandResponse{Command: withoutLine(in.GetCommand()), Config: shownToAll(in.GetConfig()), Queue: in.GetQueue()}
}

// commandsFor returns the part of each command that the caller may see. It must not change the commands.
func (c *call) commandsFor(list []*apiv1.Command) []*apiv1.Command {
	out := make([]*apiv1.Command, 0, len(list))
	for _, x := range list {
		if !c.owns(x.GetUserId()) {
			x = withoutLine(x)
		}
		out = append(out, x)
	}
	return out
}

// withoutLine returns a command without its entrypoint, which may contain passwords.
func withoutLine(x *apiv1.Command) *apiv1.Command {
	if x.CommandLine == nil {
		return x
	}
	out := proto.CloneOf(x)
	out.CommandLine = nil
	return out
}

// shownToAll returns the public part of a configuration, which is the requested resources.
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

// taskFor returns the part of a task that the caller may see. It must not change in, which belongs to
// others.
func (t *taskCalls) taskFor(c *call, in *apiv1.GetTaskResponse) (*apiv1.GetTaskResponse, error) {
	owner, err := t.cfg.Tasks.Owner(c.Context(), in.GetTask().GetTaskId())
	if err != nil || c.owns(owner) {
		return in, err
	}
	out := proto.CloneOf(in)
	out.Task.Config, out.ContextId = nil, nil
	return out, nil
}

// checkFilesReader returns an error if the caller may not read the files of a task.
func (t *taskCalls) checkFilesReader(c *call, task string) error {
	if c.allocation != "" {
		return c.ownTask(task)
	}
	owner, err := t.cfg.Tasks.Owner(c.Context(), task)
	if err != nil || c.owns(owner) {
		return err
	}
	return status.New(status.PermissionDenied, "the files of task %s are visible only to its owner and administrators", task)
}

// hideExperiment removes the submitted configuration and what may be secret from x unless the caller owns it.
func (c *call) hideExperiment(x *apiv1.Experiment) {
	if x == nil || c.allocation != "" || c.owns(x.GetUserId()) {
		return
	}
	x.OriginalConfig = ""
	x.Config = view.WithoutSecrets(x.GetConfig())
}

// hideWorkload removes metadata and files from a trial's checkpoint unless the caller owns it.
func (c *call) hideWorkload(owner int32, m *apiv1.CheckpointWorkload) {
	if m != nil && !c.owns(owner) {
		m.Metadata, m.Resources = &structpb.Struct{}, nil
	}
}

// hideVersion removes from a model version the parts of its checkpoint that the caller may not read.
func (m *modelCalls) hideVersion(c *call, v *apiv1.ModelVersion) error {
	if v.GetCheckpoint() == nil || m.cfg.Checkpoints == nil {
		return nil
	}
	return m.cfg.Checkpoints.HideContent(c.Context(), c.user, v.GetCheckpoint())
}
