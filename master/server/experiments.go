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

// Experiments manages experiments and checks the permissions of users; by is the user. For a missing
// experiment, errors have the code NotFound. The caller owns the returned messages.
type Experiments interface {
	// Create creates an experiment. If contents is not nil, it returns the contents of the files, which
	// are then not in r. Each is read once, before Create returns.
	Create(ctx context.Context, by *apiv1.User, r *apiv1.CreateExperimentRequest, contents func(file int) (io.Reader, int64)) (*apiv1.CreateExperimentResponse, error)
	Continue(ctx context.Context, by *apiv1.User, r *apiv1.ContinueExperimentRequest) (*apiv1.ContinueExperimentResponse, error)
	// PreviewSearch returns the trials that a configuration would create. It stores nothing.
	PreviewSearch(r *apiv1.PreviewHPSearchRequest) (*apiv1.PreviewHPSearchResponse, error)

	List(ctx context.Context, r *apiv1.GetExperimentsRequest) (*apiv1.GetExperimentsResponse, error)
	// Named returns at most limit experiments whose ID or name begins with text: those with exactly this
	// name first, then the newest.
	Named(text string, limit int) []*apiv1.Name
	// Owned returns the IDs of the listed experiments that the user may change.
	Owned(by *apiv1.User, r *apiv1.GetExperimentsRequest) []int32
	Experiment(ctx context.Context, id int32) (*apiv1.GetExperimentResponse, error)
	// TellingTrial returns the trial that explains the state of an experiment, with its task: the first of a
	// waiting experiment that waits, or the last of a failed one that failed. It returns 0 for others.
	TellingTrial(ctx context.Context, id int32) (trial int32, task string, err error)
	// Owner returns the ID of the user who created an experiment.
	Owner(id int32) (int32, error)
	// ProjectOf returns the ID of the project of an experiment.
	ProjectOf(id int32) (int32, error)
	// CheckReader returns an error if the user may not read content of an experiment, such as "the files".
	CheckReader(by *apiv1.User, id int32, content string) error
	// Labels returns the labels used in a project, or in all if project is 0, most frequent first.
	Labels(project int32) []string
	History(ctx context.Context, id int32, offset, limit int) (*apiv1.GetExperimentHistoryResponse, error)
	// Rungs returns the rungs of the search with the trials that reached them.
	Rungs(ctx context.Context, id int32) ([]*apiv1.SearchRung, error)
	// BestMetric returns the best value of the searcher metric, or nil if there are no validations.
	BestMetric(id int32) (*float64, error)

	// Count returns the number of experiments by displayed state, and the numbers of open and ended
	// trials.
	Count() (states map[string]int, open, ended int)

	ElsewhereExperiments
	ExperimentRequests
	ModelDefinitions
}

// experimentCalls serves the calls that create, list and describe experiments.
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
	asked, detailed := c.query().Flag("usage"), c.query().IsSet("detail")
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
	out.JobSummary = e.summarizeJob(out.GetExperiment())
	if detailed {
		if err := e.addDetail(c, out); err != nil {
			return nil, err
		}
	}
	if e.cfg.Book != nil && asked != nil && *asked { // only on request, because it sums up every run
		out.Usage, err = e.cfg.Book.UsageOf(c.Context(), rm.JobID(out.GetExperiment().GetJobId()))
	}
	return out, err
}

// summarizeJob returns the place of an experiment's job in the queue, or nil if it is not in the queue.
func (e *experimentCalls) summarizeJob(x *apiv1.Experiment) *apiv1.JobSummary {
	if x.GetEndTime() != nil || e.cfg.Queue == nil {
		return nil
	}
	for _, j := range e.cfg.Queue.Queue(rm.QueuePart{Pool: x.GetResourcePool(), Job: rm.JobID(x.GetJobId())}) {
		return j.GetSummary()
	}
	return nil
}

// addDetail adds why an experiment waits and its place in the queue, or the last lines of one that failed.
func (e *experimentCalls) addDetail(c *call, out *apiv1.GetExperimentResponse) error {
	x := out.GetExperiment()
	trial, task, err := e.cfg.Experiments.TellingTrial(c.Context(), x.GetId())
	if err != nil || trial == 0 {
		return err
	}
	if apiv1.Status(x.GetStatus()) == apiv1.StatusQueued {
		out.Queue = e.cfg.Tasks.PlaceInQueue(x.GetResourcePool(), rm.JobID(x.GetJobId()))
		waits, err := e.cfg.Tasks.Task(c.Context(), task)
		if status.Of(err) == status.NotFound { // it is not submitted yet
			return nil
		}
		if err == nil {
			x.Reason = waits.Reason
		}
		return err
	}
	out.FailedTrial = &trial
	if c.owns(x.GetUserId()) {
		out.LastLines, err = e.cfg.Tasks.LastLines(c.Context(), task)
	}
	return err
}

func (e *experimentCalls) history(c *call) (*apiv1.GetExperimentHistoryResponse, error) {
	id, err := c.experimentID()
	page, rungs := c.query().Part(), c.query().IsSet("rungs")
	if err == nil {
		err = c.query().Err()
	}
	if err != nil {
		return nil, err
	}
	out, err := e.cfg.Experiments.History(c.Context(), id, page.Offset, page.Limit)
	if err == nil && rungs {
		out.Rungs, err = e.cfg.Experiments.Rungs(c.Context(), id)
	}
	return out, err
}

func (e *experimentCalls) bestMetric(c *call) (*apiv1.GetBestSearcherValidationMetricResponse, error) {
	id, err := e.readable(c)
	if err != nil {
		return nil, err
	}
	best, err := e.cfg.Experiments.BestMetric(id)
	if err == nil && best == nil {
		err = status.New(status.NotFound, "experiment '%d' has no validations with the searcher metric yet", id)
	}
	if err != nil {
		return nil, err
	}
	return &apiv1.GetBestSearcherValidationMetricResponse{Metric: wrapperspb.Double(*best)}, nil
}

// readable returns the experiment of a call. A task may read only its own experiment.
func (e *experimentCalls) readable(c *call) (int32, error) {
	id, err := c.experimentID()
	if err != nil || c.allocation == "" {
		return id, err
	}
	return id, checkOwnExperiment(c, id)
}

// experimentID returns the experiment ID in the path.
func (c *call) experimentID() (int32, error) { return c.numberInPath("experiment") }

// numberInPath returns the ID of an object in the path. kind is the name of its path parameter.
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

// experimentsRequest returns the query parameters of a list of experiments. Errors are in c.query().Err().
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
		// The summary of the trials is held in memory.
		ShowTrialData: params.IsSet("showTrialData"),
		Pools:         params.All("pools"), WorkspaceId: int32(params.Number("workspaceId")),
	}
	return r
}
