package server

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
)

// ExperimentRequests is what users change of experiments. All of it may be repeated. The
// errors have the codes NotFound, PermissionDenied, InvalidArgument and FailedPrecondition.
type ExperimentRequests interface {
	// Ask carries out Pause, Activate, Cancel, Kill or Delete.
	Ask(ctx context.Context, by *apiv1.User, id int32, r lifecycle.Request) error
	Archive(ctx context.Context, by *apiv1.User, id int32, archived bool) error
	Move(ctx context.Context, by *apiv1.User, id, project int32) error
	Patch(ctx context.Context, by *apiv1.User, p *apiv1.PatchExperiment) (*apiv1.Experiment, error)
	// SetLabel adds or removes a label and returns all there are.
	SetLabel(ctx context.Context, by *apiv1.User, id int32, label string, present bool) ([]string, error)
	// RetainLogs keeps the logs of all trials for so many days, -1 for ever.
	RetainLogs(ctx context.Context, by *apiv1.User, id int32, days int32) error
}

// experimentRequestCalls is what users ask of experiments that exist.
type experimentRequestCalls struct{ *shared }

func (e *experimentRequestCalls) routes() []route {
	if e.cfg.Experiments == nil {
		return nil
	}
	const one = "experiments/{experiment}"
	request := func(verb string, ask endpoint) route {
		return auditedRoute("experiment."+verb, postRoute(one+"/"+verb, user, ask))
	}
	return []route{
		request("pause", askCall[apiv1.PauseExperimentResponse](e, lifecycle.Pause)),
		request("activate", askCall[apiv1.ActivateExperimentResponse](e, lifecycle.Activate)),
		request("cancel", askCall[apiv1.CancelExperimentResponse](e, lifecycle.Cancel)),
		request("kill", askCall[apiv1.KillExperimentResponse](e, lifecycle.Kill)),
		request("archive", archiveCall[apiv1.ArchiveExperimentResponse](e, true)),
		request("unarchive", archiveCall[apiv1.UnarchiveExperimentResponse](e, false)),
		request("move", unaryCall(e.move)),
		{method: http.MethodDelete, path: one, access: user, action: "experiment.delete", endpoint: askCall[apiv1.DeleteExperimentResponse](e, lifecycle.Delete)},
		{method: http.MethodPatch, path: one, access: user, action: "experiment.change", endpoint: unaryCall(e.patch)},
		{method: http.MethodPut, path: one + "/labels/{label}", access: user, action: "experiment.change", endpoint: plainCall(e.addLabel)},
		{method: http.MethodDelete, path: one + "/labels/{label}", access: user, action: "experiment.change", endpoint: plainCall(e.removeLabel)},
		{method: http.MethodPut, path: one + "/retain_logs", access: user, action: "experiment.retain_logs", endpoint: unaryCall(e.retainLogs)},
	}
}

// askCall is a request that has no more to say than what is asked.
func askCall[O any, Out message[O]](e *experimentRequestCalls, r lifecycle.Request) endpoint {
	return plainCall(func(c *call) (Out, error) {
		id, err := e.changed(c)
		if err != nil {
			return nil, err
		}
		return new(O), e.cfg.Experiments.Ask(c.Context(), c.user, id, r)
	})
}

func archiveCall[O any, Out message[O]](e *experimentRequestCalls, archived bool) endpoint {
	return plainCall(func(c *call) (Out, error) {
		id, err := e.changed(c)
		if err != nil {
			return nil, err
		}
		return new(O), e.cfg.Experiments.Archive(c.Context(), c.user, id, archived)
	})
}

// changed is the experiment of a call that changes it, and notes it with what is changed.
func (e *experimentRequestCalls) changed(c *call, details ...string) (int32, error) {
	id, err := c.experimentID()
	if err != nil {
		return 0, err
	}
	owner, err := e.cfg.Experiments.Owner(id)
	if err != nil {
		return 0, err
	}
	c.noteTarget(strconv.Itoa(int(id)), append([]string{e.describeOwner(c, owner)}, details...)...)
	return id, nil
}

func (e *experimentRequestCalls) move(c *call, in *apiv1.MoveExperimentRequest) (*apiv1.MoveExperimentResponse, error) {
	id, err := e.changed(c, fmt.Sprintf("project=%d", in.GetDestinationProjectId()))
	if err != nil {
		return nil, err
	}
	return &apiv1.MoveExperimentResponse{}, e.cfg.Experiments.Move(c.Context(), c.user, id, in.GetDestinationProjectId())
}

func (e *experimentRequestCalls) patch(c *call, in *apiv1.PatchExperiment) (*apiv1.PatchExperimentResponse, error) {
	id, err := e.changed(c)
	if err != nil {
		return nil, err
	}
	in.Id = id
	x, err := e.cfg.Experiments.Patch(c.Context(), c.user, in)
	if err != nil {
		return nil, err
	}
	c.hideExperiment(x)
	return &apiv1.PatchExperimentResponse{Experiment: x}, nil
}

func (e *experimentRequestCalls) addLabel(c *call) (*apiv1.PutExperimentLabelResponse, error) {
	labels, err := e.setLabel(c, true)
	return &apiv1.PutExperimentLabelResponse{Labels: labels}, err
}

func (e *experimentRequestCalls) removeLabel(c *call) (*apiv1.DeleteExperimentLabelResponse, error) {
	labels, err := e.setLabel(c, false)
	return &apiv1.DeleteExperimentLabelResponse{Labels: labels}, err
}

func (e *experimentRequestCalls) setLabel(c *call, present bool) ([]string, error) {
	id, err := e.changed(c)
	if err != nil {
		return nil, err
	}
	return e.cfg.Experiments.SetLabel(c.Context(), c.user, id, c.PathValue("label"), present)
}

func (e *experimentRequestCalls) retainLogs(c *call, in *apiv1.PutExperimentRetainLogsRequest) (*apiv1.PutExperimentRetainLogsResponse, error) {
	id, err := e.changed(c, fmt.Sprintf("days=%d", in.GetNumDays()))
	if err != nil {
		return nil, err
	}
	return &apiv1.PutExperimentRetainLogsResponse{}, e.cfg.Experiments.RetainLogs(c.Context(), c.user, id, in.GetNumDays())
}
