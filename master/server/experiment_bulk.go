package server

import (
	"fmt"
	"net/http"

	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
)

// bulkCalls is one request for several experiments of a project. Each is done or refused
// for itself.
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

// bulkCall does the same to each experiment.
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

// doToEach says of each experiment that was asked for what became of it. Of those that a
// filter chose the ones that are another user's are left alone.
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
		if err := do(id); err != nil {
			b.logFailure(c, err)
			r.Error = excerpt.Message(err.Error())
		}
		out.Results = append(out.Results, r)
	}
	return out, nil
}

// chosenExperiments are the ids that a request names or, where it names none, those that
// its filter leaves in.
func (b *bulkCalls) chosenExperiments(c *call, project int32, in *apiv1.BulkExperimentsRequest) ([]int32, error) {
	f := in.GetFilters()
	switch {
	case f == nil && len(in.GetExperimentIds()) == 0:
		return nil, status.New(status.InvalidArgument, "experimentIds: must name an experiment, or filters be set")
	case f == nil:
		return in.GetExperimentIds(), nil
	}
	if f.GetProjectId() != 0 {
		project = f.GetProjectId()
	}
	return b.cfg.Experiments.Owned(c.user, &apiv1.GetExperimentsRequest{
		Description: f.GetDescription(), Name: f.GetName(), Labels: f.GetLabels(), Archived: f.Archived, States: f.GetStates(),
		UserIds: f.GetUserIds(), ProjectId: project, Ids: in.GetExperimentIds(), ExcludedIds: f.GetExcludedExperimentIds(),
	}), nil
}
