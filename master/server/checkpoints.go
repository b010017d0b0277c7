package server

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/checkpoint/storage"
	"github.com/det-deploy/det-deploy/master/checkpoint/view"
	"github.com/det-deploy/det-deploy/master/server/query"
)

// Checkpoints manages the checkpoints of trials and checks the permissions of callers. For a missing
// checkpoint, errors have the code NotFound. The caller owns the returned messages.
type Checkpoints interface {
	Checkpoint(ctx context.Context, uuid string) (*apiv1.Checkpoint, error)
	// CheckReader returns an error if the caller may not read a checkpoint. HideContent removes the
	// content from m that the user may not read.
	CheckReader(ctx context.Context, by view.Caller, uuid string) error
	HideContent(ctx context.Context, by *apiv1.User, m *apiv1.Checkpoint) error
	// IDsBeginning returns UUIDs of checkpoints that begin with prefix, in order.
	IDsBeginning(ctx context.Context, prefix string, limit int) ([]string, error)
	// List returns the checkpoints of an experiment, of a trial, or all.
	List(ctx context.Context, by *apiv1.User, r *apiv1.GetCheckpointsRequest) ([]*apiv1.Checkpoint, *apiv1.Pagination, error)
	// Report stores a checkpoint, and Patch updates the remaining files of checkpoints. Both are
	// idempotent.
	Report(ctx context.Context, by view.Caller, in *apiv1.Checkpoint) error
	Patch(ctx context.Context, by view.Caller, in *apiv1.PatchCheckpointsRequest) error
	// Delete returns FailedPrecondition and deletes nothing if one of the checkpoints is in use.
	Delete(ctx context.Context, by *apiv1.User, uuids []string) error
	RemoveFiles(ctx context.Context, by *apiv1.User, uuids, globs []string) error
	SetMetadata(ctx context.Context, by *apiv1.User, uuid string, metadata map[string]any) (*apiv1.Checkpoint, error)
	// DeleteTensorBoards deletes the event files of an experiment.
	DeleteTensorBoards(ctx context.Context, by *apiv1.User, experiment int32) error
	// Download writes an archive of a checkpoint's files to w. If it returns an error before sending
	// files, it has written nothing.
	Download(ctx context.Context, by *apiv1.User, uuid string, f storage.Format, w io.Writer) error
	// DownloadFile calls serve with a file of a checkpoint.
	DownloadFile(ctx context.Context, by *apiv1.User, uuid, name string, serve func(io.ReadSeeker) error) error
	// Preview returns the checkpoints that a policy would delete. Nil counts default to those of the
	// experiment.
	Preview(ctx context.Context, by *apiv1.User, experiment int32, counts view.Counts) (view.Preview, error)
}

// checkpointCalls serves the calls by which trials report checkpoints and users manage them.
type checkpointCalls struct{ *shared }

func (p *checkpointCalls) routes() []route {
	if p.cfg.Checkpoints == nil {
		return nil
	}
	remove := func(path string, e endpoint) route {
		return route{method: http.MethodDelete, path: path, access: user, endpoint: e}
	}
	patch := route{method: http.MethodPatch, path: "checkpoints", access: either, endpoint: unaryCall(p.patch)}
	return []route{
		sizedCall(postRoute("checkpoints", either, unaryCall(p.report)), logsLimit),
		auditedRoute("checkpoint.change", sizedCall(patch, logsLimit)),
		auditedRoute("checkpoint.delete", remove("checkpoints", unaryCall(p.deleteCheckpoints))),
		auditedRoute("checkpoint.remove_files", postRoute("checkpoints/rm", user, unaryCall(p.removeFiles))),
		getRoute("checkpoints", user, plainCall(p.checkpoints)),
		getRoute("checkpoints/{checkpoint}", either, plainCall(p.checkpoint)),
		auditedRoute("checkpoint.metadata", postRoute("checkpoints/{checkpoint}/metadata", user, unaryCall(p.setMetadata))),
		getRoute("experiments/{experiment}/checkpoints", user, plainCall(p.ofExperiment)),
		getRoute("trials/{trial}/checkpoints", user, plainCall(p.ofTrial)),
		auditedRoute("experiment.delete_tensorboard_files", remove("experiments/{experiment}/tensorboard-files", plainCall(p.deleteTensorBoards))),
	}
}

// callerOf returns the caller: a user, or a task with its own token.
func callerOf(c *call) view.Caller {
	if c.allocation == "" {
		return view.Caller{User: c.user}
	}
	return view.Caller{User: c.user, Task: taskOf(c.allocation), Allocation: c.allocation}
}

func (p *checkpointCalls) report(c *call, in *apiv1.Checkpoint) (*apiv1.ReportCheckpointResponse, error) {
	return &apiv1.ReportCheckpointResponse{}, p.cfg.Checkpoints.Report(c.Context(), callerOf(c), in)
}

func (p *checkpointCalls) patch(c *call, in *apiv1.PatchCheckpointsRequest) (*apiv1.PatchCheckpointsResponse, error) {
	return &apiv1.PatchCheckpointsResponse{}, p.cfg.Checkpoints.Patch(c.Context(), callerOf(c), in)
}

func (p *checkpointCalls) deleteCheckpoints(c *call, in *apiv1.DeleteCheckpointsRequest) (*apiv1.DeleteCheckpointsResponse, error) {
	c.noteTarget(strings.Join(in.GetCheckpointUuids(), ","))
	return &apiv1.DeleteCheckpointsResponse{}, p.cfg.Checkpoints.Delete(c.Context(), c.user, in.GetCheckpointUuids())
}

func (p *checkpointCalls) removeFiles(c *call, in *apiv1.CheckpointsRemoveFilesRequest) (*apiv1.CheckpointsRemoveFilesResponse, error) {
	c.noteTarget(strings.Join(in.GetCheckpointUuids(), ","), "globs="+strings.Join(in.GetCheckpointGlobs(), ","))
	err := p.cfg.Checkpoints.RemoveFiles(c.Context(), c.user, in.GetCheckpointUuids(), in.GetCheckpointGlobs())
	return &apiv1.CheckpointsRemoveFilesResponse{}, err
}

func (p *checkpointCalls) checkpoint(c *call) (*apiv1.GetCheckpointResponse, error) {
	id := c.PathValue("checkpoint")
	if err := p.cfg.Checkpoints.CheckReader(c.Context(), callerOf(c), id); err != nil {
		return nil, err
	}
	m, err := p.cfg.Checkpoints.Checkpoint(c.Context(), id)
	if err != nil {
		return nil, err
	}
	return &apiv1.GetCheckpointResponse{Checkpoint: m}, nil
}

func (p *checkpointCalls) setMetadata(c *call, in *apiv1.PostCheckpointMetadataRequest) (*apiv1.PostCheckpointMetadataResponse, error) {
	id := c.PathValue("checkpoint")
	c.noteTarget(id)
	m, err := p.cfg.Checkpoints.SetMetadata(c.Context(), c.user, id, in.GetCheckpoint().GetMetadata().AsMap())
	return &apiv1.PostCheckpointMetadataResponse{Checkpoint: m}, err
}

// listRequest returns the query parameters of a list.
func (c *call) listRequest() *apiv1.GetCheckpointsRequest {
	params := c.query()
	r := &apiv1.GetCheckpointsRequest{
		SortByAttr: query.Enum[apiv1.GetCheckpointsRequest_SortBy](params, "sortByAttr"), SortByMetric: params.Text("sortByMetric"),
		OrderBy: query.Enum[apiv1.GetCheckpointsRequest_OrderBy](params, "orderBy"), States: query.Enums[apiv1.Checkpoint_State](params, "states"),
		Offset: int32(params.Number("offset")), Limit: int32(params.Limit()), Deleting: params.IsSet("deleting"),
	}
	return r
}

func (p *checkpointCalls) list(c *call, r *apiv1.GetCheckpointsRequest) ([]*apiv1.Checkpoint, *apiv1.Pagination, error) {
	if c.query().Err() != nil {
		return nil, nil, c.query().Err()
	}
	return p.cfg.Checkpoints.List(c.Context(), c.user, r)
}

func (p *checkpointCalls) checkpoints(c *call) (*apiv1.GetCheckpointsResponse, error) {
	all, page, err := p.list(c, c.listRequest())
	return &apiv1.GetCheckpointsResponse{Checkpoints: all, Pagination: page}, err
}

func (p *checkpointCalls) ofExperiment(c *call) (*apiv1.GetExperimentCheckpointsResponse, error) {
	id, err := c.experimentID()
	if err != nil {
		return nil, err
	}
	r := c.listRequest()
	r.ExperimentId = id
	all, page, err := p.list(c, r)
	return &apiv1.GetExperimentCheckpointsResponse{Checkpoints: all, Pagination: page}, err
}

func (p *checkpointCalls) ofTrial(c *call) (*apiv1.GetTrialCheckpointsResponse, error) {
	id, err := c.trialID()
	if err != nil {
		return nil, err
	}
	r := c.listRequest()
	r.TrialId = id
	all, page, err := p.list(c, r)
	return &apiv1.GetTrialCheckpointsResponse{Checkpoints: all, Pagination: page}, err
}

func (p *checkpointCalls) deleteTensorBoards(c *call) (*apiv1.DeleteTensorboardFilesResponse, error) {
	id, err := c.experimentID()
	if err != nil {
		return nil, err
	}
	c.noteTarget(strconv.Itoa(int(id)))
	return &apiv1.DeleteTensorboardFilesResponse{}, p.cfg.Checkpoints.DeleteTensorBoards(c.Context(), c.user, id)
}

// Uses records which trials use the checkpoints of others.
type Uses interface {
	// ReportUse records that a trial uses a checkpoint. It is idempotent.
	ReportUse(ctx context.Context, u *apiv1.TrialSourceInfo) error
	// Using returns the trials that use a checkpoint, optionally filtered by type or by model version.
	Using(ctx context.Context, q *apiv1.TrialSourceInfo) ([]int32, error)
}

// useCalls serves the calls about trials that use the checkpoints of others, and about their metrics.
type useCalls struct{ *shared }

func (u *useCalls) routes() []route {
	if u.cfg.Trials == nil || u.cfg.TrialMetrics == nil {
		return nil
	}
	list := []route{
		postRoute("trial-source-info", either, unaryCall(u.report)),
		getRoute("checkpoints/{checkpoint}/metrics", user, plainCall(u.ofCheckpoint)),
	}
	if u.cfg.Models == nil {
		return list
	}
	return append(list, getRoute("models/{model}/versions/{version}/metrics", user, plainCall(u.ofVersion)))
}

func (u *useCalls) report(c *call, in *apiv1.ReportTrialSourceInfoRequest) (*apiv1.ReportTrialSourceInfoResponse, error) {
	info := in.GetTrialSourceInfo()
	if err := u.checkReporter(c, info.GetTrialId()); err != nil {
		return nil, err
	}
	out := &apiv1.ReportTrialSourceInfoResponse{TrialId: info.GetTrialId(), CheckpointUuid: info.GetCheckpointUuid()}
	return out, u.cfg.Trials.ReportUse(c.Context(), info)
}

func (u *useCalls) ofCheckpoint(c *call) (*apiv1.GetTrialMetricsByCheckpointResponse, error) {
	m, err := u.cfg.Checkpoints.Checkpoint(c.Context(), c.PathValue("checkpoint"))
	if err != nil {
		return nil, err
	}
	all, err := u.measured(c, &apiv1.TrialSourceInfo{CheckpointUuid: m.GetUuid()})
	return &apiv1.GetTrialMetricsByCheckpointResponse{Metrics: all}, err
}

func (u *useCalls) ofVersion(c *call) (*apiv1.GetTrialMetricsByModelVersionResponse, error) {
	n, err := c.numberInPath("version")
	if err != nil {
		return nil, err
	}
	v, err := u.cfg.Models.Version(c.Context(), c.PathValue("model"), n)
	if err != nil {
		return nil, err
	}
	q := &apiv1.TrialSourceInfo{CheckpointUuid: v.GetCheckpoint().GetUuid(), ModelId: new(v.GetModel().GetId()), ModelVersion: &n}
	all, err := u.measured(c, q)
	return &apiv1.GetTrialMetricsByModelVersionResponse{Metrics: all}, err
}

// measured returns the metrics reported by the trials that use a checkpoint.
func (u *useCalls) measured(c *call, q *apiv1.TrialSourceInfo) ([]*apiv1.MetricsReport, error) {
	params := c.query()
	q.TrialSourceInfoType = query.Enum[apiv1.TrialSourceInfoType](params, "trialSourceInfoType")
	group := params.Text("metricGroup")
	if params.Err() != nil {
		return nil, params.Err()
	}
	trials, err := u.cfg.Trials.Using(c.Context(), q)
	if err != nil {
		return nil, err
	}
	return u.cfg.TrialMetrics.All(c.Context(), trials, group)
}
