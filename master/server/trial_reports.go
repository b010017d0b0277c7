package server

import (
	"context"
	"math"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// TrialReports stores the reports of trials other than metrics and checkpoints. All methods are
// idempotent.
type TrialReports interface {
	// ReportProgress records the progress of a trial, from 0 to 1.
	ReportProgress(ctx context.Context, trial int32, done float64) error
	// ReportInvalid records that the hyperparameters are invalid. If the trial is not running, the error
	// has the code InvalidArgument.
	ReportInvalid(ctx context.Context, trial int32) error
	// SetRunnerState records the activity of a program as free text.
	SetRunnerState(ctx context.Context, trial int32, state string) error
	// StartRun records that a run starts to report, and its checkpoint storage. It returns the ID of the
	// storage, or nil if none was given.
	StartRun(ctx context.Context, trial int32, storage *structpb.Struct) (*int32, error)
	// Metadata returns the metadata of a run. SetMetadata replaces and returns it.
	Metadata(ctx context.Context, trial int32) (*structpb.Struct, error)
	SetMetadata(ctx context.Context, trial int32, all *structpb.Struct) (*structpb.Struct, error)
}

// reportCalls serves the calls by which the programs of trials report. A task may report only about its
// own trial.
type reportCalls struct{ *shared }

func (r *reportCalls) routes() []route {
	if r.cfg.Trials == nil {
		return nil
	}
	return []route{
		postRoute("trials/{trial}/progress", either, unaryCall(r.progress)),
		postRoute("trials/{trial}/runner/metadata", either, unaryCall(r.runnerState)),
		postRoute("trials/{trial}/early_exit", either, unaryCall(r.earlyExit)),
		postRoute("runs/start", either, unaryCall(r.startRun)),
		getRoute("runs/{run}/metadata", either, plainCall(r.metadata)),
		postRoute("runs/{run}/metadata", either, unaryCall(r.setMetadata)),
	}
}

// reported returns the trial of a reporting call.
func (r *reportCalls) reported(c *call) (int32, error) {
	id, err := c.trialID()
	if err != nil {
		return 0, err
	}
	return id, r.checkReporter(c, id)
}

func (r *reportCalls) progress(c *call, in *apiv1.ReportTrialProgressRequest) (*apiv1.ReportTrialProgressResponse, error) {
	id, err := r.reported(c)
	if err != nil {
		return nil, err
	}
	p := in.GetProgress()
	if math.IsNaN(p) || p < 0 || p > 1 {
		return nil, status.New(status.InvalidArgument, "progress: must be between 0 and 1 (is %v)", p)
	}
	return &apiv1.ReportTrialProgressResponse{}, r.cfg.Trials.ReportProgress(c.Context(), id, p)
}

// longestState is the maximum length of a runner state in bytes.
const longestState = 256

func (r *reportCalls) runnerState(c *call, in *apiv1.TrialRunnerMetadata) (*apiv1.PostTrialRunnerMetadataResponse, error) {
	id, err := r.reported(c)
	if err != nil {
		return nil, err
	}
	if n := len(in.GetState()); n > longestState {
		return nil, status.New(status.InvalidArgument, "state: must have at most %d bytes (has %d: %q)", longestState, n, excerpt.Of(in.GetState()))
	}
	return &apiv1.PostTrialRunnerMetadataResponse{}, r.cfg.Trials.SetRunnerState(c.Context(), id, in.GetState())
}

func (r *reportCalls) earlyExit(c *call, in *apiv1.TrialEarlyExit) (*apiv1.ReportTrialSearcherEarlyExitResponse, error) {
	id, err := r.reported(c)
	if err != nil {
		return nil, err
	}
	switch in.GetReason() {
	case apiv1.TrialEarlyExit_EXITED_REASON_INVALID_HP, apiv1.TrialEarlyExit_EXITED_REASON_INIT_INVALID_HP:
	case apiv1.TrialEarlyExit_EXITED_REASON_UNSPECIFIED:
		fallthrough
	default:
		return nil, status.New(status.InvalidArgument, "reason: must be EXITED_REASON_INVALID_HP or EXITED_REASON_INIT_INVALID_HP")
	}
	return &apiv1.ReportTrialSearcherEarlyExitResponse{}, r.cfg.Trials.ReportInvalid(c.Context(), id)
}

func (r *reportCalls) startRun(c *call, in *apiv1.RunPrepareForReportingRequest) (*apiv1.RunPrepareForReportingResponse, error) {
	if err := r.checkReporter(c, in.GetRunId()); err != nil {
		return nil, err
	}
	storage, err := r.cfg.Trials.StartRun(c.Context(), in.GetRunId(), in.GetCheckpointStorage())
	return &apiv1.RunPrepareForReportingResponse{StorageId: storage}, err
}

// metadata responds to users, and to a task about its own run.
func (r *reportCalls) metadata(c *call) (*apiv1.GetRunMetadataResponse, error) {
	id, err := c.numberInPath("run")
	if err == nil && c.allocation != "" {
		err = r.checkReporter(c, id)
	}
	if err != nil {
		return nil, err
	}
	all, err := r.cfg.Trials.Metadata(c.Context(), id)
	return &apiv1.GetRunMetadataResponse{Metadata: all}, err
}

func (r *reportCalls) setMetadata(c *call, in *apiv1.PostRunMetadataRequest) (*apiv1.PostRunMetadataResponse, error) {
	id, err := c.numberInPath("run")
	if err == nil {
		err = r.checkReporter(c, id)
	}
	if err != nil {
		return nil, err
	}
	all, err := r.cfg.Trials.SetMetadata(c.Context(), id, in.GetMetadata())
	return &apiv1.PostRunMetadataResponse{Metadata: all}, err
}
