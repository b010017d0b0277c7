package server

import (
	"context"
	"io"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
)

// TensorBoards starts TensorBoards.
type TensorBoards interface {
	// Launch starts a TensorBoard. If contents is not nil, it returns the contents of the files, which are
	// then not in r.
	Launch(ctx context.Context, by *apiv1.User, r *apiv1.LaunchTensorboardRequest, contents func(file int) (io.Reader, int64)) (*apiv1.LaunchCommandResponse, error)
}

// tensorboardCalls serves the calls about TensorBoards.
type tensorboardCalls struct{ *shared }

func (t *tensorboardCalls) routes() []route {
	if t.cfg.TensorBoards == nil {
		return nil
	}
	return []route{
		sizedCall(postRoute("tensorboards", user, unaryCall(t.launch)), large),
		getRoute("tensorboards", user, plainCall(t.tensorboards)),
		getRoute("tensorboards/{tensorboard}", user, plainCall(t.tensorboard)),
		auditedRoute("task.kill", postRoute("tensorboards/{tensorboard}/kill", user, plainCall(t.kill))),
		auditedRoute("task.priority", postRoute("tensorboards/{tensorboard}/set_priority", user, unaryCall(t.setPriority))),
	}
}

func (t *tensorboardCalls) launch(c *call, in *apiv1.LaunchTensorboardRequest) (*apiv1.LaunchTensorboardResponse, error) {
	made, err := t.cfg.TensorBoards.Launch(c.Context(), c.user, in, c.intake.contents)
	if err != nil {
		return nil, err
	}
	return &apiv1.LaunchTensorboardResponse{
		Tensorboard: t.addBoard(c, asKind[apiv1.Tensorboard](made.GetCommand())), Config: made.GetConfig(), Warnings: made.GetWarnings(),
	}, nil
}

func (t *tensorboardCalls) tensorboards(c *call) (*apiv1.GetTensorboardsResponse, error) {
	list, part, err := listKind[apiv1.Tensorboard](t.shared, c, lifecycle.TensorBoard)
	for _, one := range list {
		t.addBoard(c, one)
	}
	return &apiv1.GetTensorboardsResponse{Tensorboards: list, Pagination: part}, err
}

func (t *tensorboardCalls) tensorboard(c *call) (*apiv1.GetTensorboardResponse, error) {
	found, err := t.cfg.Tasks.OfKind(c.Context(), lifecycle.TensorBoard, c.PathValue("tensorboard"))
	if err != nil {
		return nil, err
	}
	shown := c.commandFor(found)
	return &apiv1.GetTensorboardResponse{Tensorboard: t.addBoard(c, asKind[apiv1.Tensorboard](shown.GetCommand())), Config: shown.GetConfig()}, nil
}

// addBoard adds the fields that only TensorBoards have. One that is no longer listed lacks them.
func (t *tensorboardCalls) addBoard(c *call, to *apiv1.Tensorboard) *apiv1.Tensorboard {
	to.ServiceAddress = servicesPath + to.GetId() + "/"
	if b, err := t.cfg.Tasks.Board(c.Context(), to.GetId()); err == nil {
		to.ExperimentIds, to.TrialIds = b.Experiments, b.Trials
	}
	return to
}

func (t *tensorboardCalls) kill(c *call) (*apiv1.KillTensorboardResponse, error) {
	killed, err := killKind[apiv1.Tensorboard](t.shared, c, lifecycle.TensorBoard, c.PathValue("tensorboard"))
	return &apiv1.KillTensorboardResponse{Tensorboard: killed}, err
}

func (t *tensorboardCalls) setPriority(c *call, in *apiv1.SetTensorboardPriorityRequest) (*apiv1.SetTensorboardPriorityResponse, error) {
	changed, err := setKindPriority[apiv1.Tensorboard](t.shared, c, lifecycle.TensorBoard, c.PathValue("tensorboard"), in.GetPriority())
	return &apiv1.SetTensorboardPriorityResponse{Tensorboard: changed}, err
}
