package server

import (
	"context"
	"io"
	"strconv"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/server/query"
)

// Experiments is searches and how they are read. Who may change what is theirs to say: by
// is the user. The errors for an experiment that does not exist have the code NotFound.
// Messages that are returned are the caller's.
type Experiments interface {
	// Create accepts an experiment. With contents the files' are there, each to be read once
	// before Create returns, and not in r.
	Create(ctx context.Context, by *apiv1.User, r *apiv1.CreateExperimentRequest, contents func(file int) (io.Reader, int64)) (*apiv1.CreateExperimentResponse, error)
	Continue(ctx context.Context, by *apiv1.User, r *apiv1.ContinueExperimentRequest) (*apiv1.ContinueExperimentResponse, error)
	// PreviewSearch says which trials a configuration leads to. Nothing is stored.
	PreviewSearch(r *apiv1.PreviewHPSearchRequest) (*apiv1.PreviewHPSearchResponse, error)

	List(ctx context.Context, r *apiv1.GetExperimentsRequest) (*apiv1.GetExperimentsResponse, error)
	// Owned are the ids of those that a list would have, and that the user may change.
	Owned(by *apiv1.User, r *apiv1.GetExperimentsRequest) []int32
	Experiment(ctx context.Context, id int32) (*apiv1.GetExperimentResponse, error)
	// Owner is the id of the user who created an experiment.
	Owner(id int32) (int32, error)
	// CheckReader refuses a user who may not read the content of an experiment, such as "the files".
	CheckReader(by *apiv1.User, id int32, content string) error
	// Labels are those in use in a project, 0 for all, the most used first.
	Labels(project int32) []string
	History(ctx context.Context, id int32, offset, limit int) (*apiv1.GetExperimentHistoryResponse, error)
	// BestMetric is the best value of the metric that the search compares by, nil for none.
	BestMetric(id int32) (*float64, error)

	// Count is how many experiments there are by the state that they are shown in, and how
	// many trials they have.
	Count() (states map[string]int, open, ended int)

	ElsewhereExperiments
	ExperimentRequests
	ModelDefinitions
}

// experimentCalls is experiments: creating, listing and describing them.
type experimentCalls struct{ *shared }

func (e *experimentCalls) routes() []route {
	if e.cfg.Experiments == nil {
		return nil
	}
	return []route{
		auditedRoute("experiment.create", sizedCall(postRoute("experiments", user, unaryCall(e.create)), large)),
		auditedRoute("experiment.continue", postRoute("experiments/continue", user, unaryCall(e.continueExperiment))),
		postRoute("preview-hp-search", user, unaryCall(e.previewSearch)),
		getRoute("experiments", user, plainCall(e.experiments)),
		getRoute("experiment/labels", user, plainCall(e.labels)),
		getRoute("experiments/{experiment}", either, plainCall(e.experiment)),
		getRoute("experiments/{experiment}/history", user, plainCall(e.history)),
		getRoute("experiments/{experiment}/searcher/best_searcher_validation_metric", either, plainCall(e.bestMetric)),
	}
}

func (e *experimentCalls) create(c *call, in *apiv1.CreateExperimentRequest) (*apiv1.CreateExperimentResponse, error) {
	out, err := e.cfg.Experiments.Create(c.Context(), c.user, in, c.intake.contents)
	c.noteTarget(shownNumber(out.GetExperiment().GetId()))
	return out, err
}

func (e *experimentCalls) continueExperiment(c *call, in *apiv1.ContinueExperimentRequest) (*apiv1.ContinueExperimentResponse, error) {
	c.noteTarget(shownNumber(in.GetId()))
	return e.cfg.Experiments.Continue(c.Context(), c.user, in)
}

func (e *experimentCalls) previewSearch(_ *call, in *apiv1.PreviewHPSearchRequest) (*apiv1.PreviewHPSearchResponse, error) {
	return e.cfg.Experiments.PreviewSearch(in)
}

func (e *experimentCalls) experiments(c *call) (*apiv1.GetExperimentsResponse, error) {
	r := c.experimentsRequest()
	if c.query().Err() != nil {
		return nil, c.query().Err()
	}
	out, err := e.cfg.Experiments.List(c.Context(), r)
	for _, x := range out.GetExperiments() {
		c.hideExperiment(x)
	}
	return out, err
}

func (e *experimentCalls) labels(c *call) (*apiv1.GetExperimentLabelsResponse, error) {
	project := int32(c.query().Number("projectId"))
	return &apiv1.GetExperimentLabelsResponse{Labels: e.cfg.Experiments.Labels(project)}, c.query().Err()
}

func (e *experimentCalls) experiment(c *call) (*apiv1.GetExperimentResponse, error) {
	id, err := e.readable(c)
	asked := c.query().Flag("usage")
	if err == nil {
		err = c.query().Err()
	}
	if err != nil {
		return nil, err
	}
	out, err := e.cfg.Experiments.Experiment(c.Context(), id)
	if err != nil {
		return nil, err
	}
	c.hideExperiment(out.GetExperiment())
	out.Config = out.GetExperiment().GetConfig()
	if e.cfg.Book != nil && asked != nil && *asked { // it adds up every run
		out.Usage, err = e.cfg.Book.UsageOf(c.Context(), rm.JobID(out.GetExperiment().GetJobId()))
	}
	return out, err
}

func (e *experimentCalls) history(c *call) (*apiv1.GetExperimentHistoryResponse, error) {
	id, err := c.experimentID()
	page := c.query().Part()
	if err == nil {
		err = c.query().Err()
	}
	if err != nil {
		return nil, err
	}
	return e.cfg.Experiments.History(c.Context(), id, page.Offset, page.Limit)
}

func (e *experimentCalls) bestMetric(c *call) (*apiv1.GetBestSearcherValidationMetricResponse, error) {
	id, err := e.readable(c)
	if err != nil {
		return nil, err
	}
	best, err := e.cfg.Experiments.BestMetric(id)
	if err == nil && best == nil {
		err = status.New(status.NotFound, "experiment '%d' has no validation with its searcher's metric yet", id)
	}
	if err != nil {
		return nil, err
	}
	return &apiv1.GetBestSearcherValidationMetricResponse{Metric: wrapperspb.Double(*best)}, nil
}

// readable is the experiment of a call, which a task may read if it is its own.
func (e *experimentCalls) readable(c *call) (int32, error) {
	id, err := c.experimentID()
	if err != nil || c.allocation == "" {
		return id, err
	}
	return id, checkOwnExperiment(c, id)
}

// experimentID is the number in the path.
func (c *call) experimentID() (int32, error) { return c.numberInPath("experiment") }

// numberInPath is the number of a thing, which is what its place in the path is called.
func (c *call) numberInPath(kind string) (int32, error) {
	id, err := strconv.ParseInt(c.PathValue(kind), 10, 32)
	if err != nil {
		return 0, status.Missing(kind, c.PathValue(kind))
	}
	return int32(id), nil
}

func shownNumber(id int32) string {
	if id == 0 {
		return ""
	}
	return strconv.Itoa(int(id))
}

// experimentsRequest is the parameters of a list of experiments; what is wrong with them
// is in c.query().Err().
func (c *call) experimentsRequest() *apiv1.GetExperimentsRequest {
	params := c.query()
	r := &apiv1.GetExperimentsRequest{
		SortBy: query.Enum[apiv1.GetExperimentsRequest_SortBy](params, "sortBy"), Descending: params.Descending(),
		Offset: int32(params.Number("offset")), Limit: int32(params.Limit()),
		Description: params.Text("description"), Name: params.Text("name"), Labels: params.All("labels"),
		Archived: params.Flag("archived"), States: query.Enums[apiv1.Experiment_State](params, "states"),
		Users: params.All("users"), UserIds: params.Numbers("userIds"), ProjectId: int32(params.Number("projectId")),
		Ids: params.Numbers("experimentIdFilter.incl"), ExcludedIds: params.Numbers("experimentIdFilter.notIn"),
		FromId: params.Bound("experimentIdFilter.gte", "experimentIdFilter.gt", 1),
		ToId:   params.Bound("experimentIdFilter.lte", "experimentIdFilter.lt", -1),
		// What is shown of trials are numbers that are at hand.
		ShowTrialData: params.IsSet("showTrialData"),
	}
	return r
}
