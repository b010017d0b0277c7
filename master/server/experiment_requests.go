package server

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
)

// ExperimentRequests are the operations on experiments. All are idempotent. Errors have the codes
// NotFound, PermissionDenied, InvalidArgument and FailedPrecondition.
type ExperimentRequests interface {
	// Ask carries out Pause, Activate, Cancel, Kill or Delete.
	Ask(ctx context.Context, by *apiv1.User, id int32, r lifecycle.Request) error
	// DeleteRecords deletes an experiment, leaves its files in the storage, and returns their
	// directories.
	DeleteRecords(ctx context.Context, by *apiv1.User, id int32) ([]string, error)
	Archive(ctx context.Context, by *apiv1.User, id int32, archived bool) error
	Move(ctx context.Context, by *apiv1.User, id, project int32) error
	Patch(ctx context.Context, by *apiv1.User, p *apiv1.PatchExperiment) (*apiv1.Experiment, error)
	// SetLabel adds or removes a label and returns all labels.
	SetLabel(ctx context.Context, by *apiv1.User, id int32, label string, present bool) ([]string, error)
	// RetainLogs sets the retention of the logs of all trials in days; -1 keeps them forever.
	RetainLogs(ctx context.Context, by *apiv1.User, id int32, days int32) error
}

// experimentRequestCalls serves the calls that change existing experiments.
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
		{method: http.MethodDelete, path: one, access: user, action: "experiment.delete", endpoint: plainCall(e.remove)},
		{method: http.MethodPatch, path: one, access: user, action: "experiment.change", endpoint: unaryCall(e.patch)},
		{method: http.MethodPut, path: one + "/labels/{label}", access: user, action: "experiment.change", endpoint: plainCall(e.addLabel)},
		{method: http.MethodDelete, path: one + "/labels/{label}", access: user, action: "experiment.change", endpoint: plainCall(e.removeLabel)},
		{method: http.MethodPut, path: one + "/retain_logs", access: user, action: "experiment.retain_logs", endpoint: unaryCall(e.retainLogs)},
	}
}

// askCall returns the endpoint of a request without further parameters.
func askCall[O any, Out message[O]](e *experimentRequestCalls, r lifecycle.Request) endpoint {
	return plainCall(func(c *call) (Out, error) {
		id, err := e.changed(c)
		if err != nil {
			return nil, err
		}
		return new(O), e.cfg.Experiments.Ask(c.Context(), c.user, id, r)
	})
}

// remove deletes an experiment. With keepFiles=true, its files stay in the storage.
func (e *experimentRequestCalls) remove(c *call) (*apiv1.DeleteExperimentResponse, error) {
	keep := c.query().IsSet("keepFiles")
	if err := c.query().Err(); err != nil {
		return nil, err
	}
	var details []string
	if keep {
		details = append(details, "keep_files")
	}
	id, err := e.changed(c, details...)
	if err != nil {
		return nil, err
	}
	out := &apiv1.DeleteExperimentResponse{}
	if !keep {
		return out, e.cfg.Experiments.Ask(c.Context(), c.user, id, lifecycle.Delete)
	}
	out.KeptFiles, err = e.cfg.Experiments.DeleteRecords(c.Context(), c.user, id)
	return out, err
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

// changed returns the experiment that a call changes, and sets it as the target in the audit log.
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

// bulkCalls serves requests for several experiments of a project; project -1 is any project. Each
// experiment is processed independently of the others.
type bulkCalls struct{ *shared }

func (b *bulkCalls) routes() []route {
	if b.cfg.Experiments == nil {
		return nil
	}
	const all = "projects/{project}/experiments/"
	ask := func(verb string, r lifecycle.Request) route {
		return auditedRoute("experiment."+verb, postRoute(all+verb, user, b.bulkCall(func(c *call, id int32) error {
			return b.cfg.Experiments.Ask(c.Context(), c.user, id, r)
		})))
	}
	archive := func(verb string, archived bool) route {
		return auditedRoute("experiment."+verb, postRoute(all+verb, user, b.bulkCall(func(c *call, id int32) error {
			return b.cfg.Experiments.Archive(c.Context(), c.user, id, archived)
		})))
	}
	list := []route{
		ask("pause", lifecycle.Pause), ask("activate", lifecycle.Activate), ask("cancel", lifecycle.Cancel), ask("kill", lifecycle.Kill),
		archive("archive", true), archive("unarchive", false),
		auditedRoute("experiment.move", postRoute(all+"move", user, unaryCall(b.moveExperiments))),
		auditedRoute("experiment.retain_logs", route{method: http.MethodPut, path: all + "retain_logs", access: user, endpoint: unaryCall(b.retainLogsOfExperiments)}),
	}
	remove := ask("delete", lifecycle.Delete)
	remove.method = http.MethodDelete
	return append(list, remove)
}

// bulkCall returns the endpoint that calls do for each experiment.
func (b *bulkCalls) bulkCall(do func(c *call, id int32) error) endpoint {
	return unaryCall(func(c *call, in *apiv1.BulkExperimentsRequest) (*apiv1.BulkExperimentsResponse, error) {
		return b.doToEach(c, in, func(id int32) error { return do(c, id) })
	})
}

func (b *bulkCalls) moveExperiments(c *call, in *apiv1.MoveExperimentsRequest) (*apiv1.BulkExperimentsResponse, error) {
	which := &apiv1.BulkExperimentsRequest{ExperimentIds: in.GetExperimentIds(), Filters: in.GetFilters()}
	return b.doToEach(c, which, func(id int32) error {
		return b.cfg.Experiments.Move(c.Context(), c.user, id, in.GetDestinationProjectId())
	})
}

func (b *bulkCalls) retainLogsOfExperiments(c *call, in *apiv1.PutExperimentsRetainLogsRequest) (*apiv1.BulkExperimentsResponse, error) {
	which := &apiv1.BulkExperimentsRequest{ExperimentIds: in.GetExperimentIds(), Filters: in.GetFilters()}
	return b.doToEach(c, which, func(id int32) error {
		return b.cfg.Experiments.RetainLogs(c.Context(), c.user, id, in.GetNumDays())
	})
}

// doToEach calls do for each selected experiment and returns the results. A filter selects only
// experiments that the user may change.
func (b *bulkCalls) doToEach(c *call, in *apiv1.BulkExperimentsRequest, do func(id int32) error) (*apiv1.BulkExperimentsResponse, error) {
	project, err := c.numberInPath("project")
	if err != nil {
		return nil, err
	}
	ids, err := b.chosenExperiments(c, project, in)
	if err != nil {
		return nil, err
	}
	c.noteTarget(excerpt.Of(fmt.Sprint(ids)), fmt.Sprintf("project=%d", project))
	out := &apiv1.BulkExperimentsResponse{}
	for _, id := range ids {
		r := &apiv1.ExperimentActionResult{Id: id}
		err := b.checkProject(id, project)
		if err == nil {
			err = do(id)
		}
		if err != nil {
			b.logFailure(c, err)
			r.Error = excerpt.Message(err.Error())
		}
		out.Results = append(out.Results, r)
	}
	return out, nil
}

// checkProject returns NotFound if the experiment is in another project than the call's.
func (b *bulkCalls) checkProject(id, project int32) error {
	in, err := b.cfg.Experiments.ProjectOf(id)
	if err == nil && project > 0 && in != project {
		err = status.New(status.NotFound, "experiment '%d' not found in project %d: it is in project %d", id, project, in)
	}
	return err
}

// chosenExperiments returns the experiments that match the filter or, if there is no filter, the
// requested IDs. It returns NotFound if none match the filter.
func (b *bulkCalls) chosenExperiments(c *call, project int32, in *apiv1.BulkExperimentsRequest) ([]int32, error) {
	f := in.GetFilters()
	switch {
	case f == nil && len(in.GetExperimentIds()) == 0:
		return nil, status.New(status.InvalidArgument, "experimentIds: must contain an experiment unless filters is set")
	case f == nil:
		return in.GetExperimentIds(), nil
	}
	if f.GetProjectId() > 0 && project > 0 && f.GetProjectId() != project {
		return nil, status.New(status.InvalidArgument, "filters.projectId: must be the project of the path, %d (is %d)", project, f.GetProjectId())
	}
	ids := b.cfg.Experiments.Owned(c.user, &apiv1.GetExperimentsRequest{
		Description: f.GetDescription(), Name: f.GetName(), Labels: f.GetLabels(), Archived: f.Archived, States: f.GetStates(),
		UserIds: f.GetUserIds(), ProjectId: max(project, f.GetProjectId()), ExcludedIds: f.GetExcludedExperimentIds(),
	})
	if len(ids) == 0 {
		return nil, status.New(status.NotFound, "no experiment was changed: none that you may change matches the filters%s", inProject(max(project, f.GetProjectId())))
	}
	return ids, nil
}

// inProject returns " in project N", or "" for any project.
func inProject(project int32) string {
	if project <= 0 {
		return ""
	}
	return fmt.Sprintf(" in project %d", project)
}
