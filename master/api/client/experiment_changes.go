package client

import (
	"context"
	"io"
	"net/http"
	"net/url"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// ContinueExperiment runs an ended experiment again. override is YAML that changes its configuration, or
// empty. A lost response is an error, because the experiment may run already.
func (e experiments) ContinueExperiment(ctx context.Context, id int32, override string) (*apiv1.ContinueExperimentResponse, error) {
	out := &apiv1.ContinueExperimentResponse{}
	return out, e.do(ctx, call{
		op: "continue experiment " + number(id), method: http.MethodPost, path: "/api/v1/experiments/continue",
		in: &apiv1.ContinueExperimentRequest{Id: id, OverrideConfig: override}, out: out, once: true,
	})
}

// PatchExperiment changes the fields that are set.
func (e experiments) PatchExperiment(ctx context.Context, in *apiv1.PatchExperiment) (*apiv1.Experiment, error) {
	out := &apiv1.PatchExperimentResponse{}
	err := e.do(ctx, call{op: "change experiment " + number(in.GetId()), method: http.MethodPatch, path: experimentPath(in.GetId()), in: in, out: out})
	return out.GetExperiment(), err
}

// MoveExperiment moves an experiment to another project.
func (e experiments) MoveExperiment(ctx context.Context, id, project int32) error {
	in := &apiv1.MoveExperimentRequest{ExperimentId: id, DestinationProjectId: project}
	return e.do(ctx, call{op: "move experiment " + number(id), method: http.MethodPost, path: experimentPath(id) + "/move", in: in})
}

// SetExperimentLabel adds or removes a label.
func (e experiments) SetExperimentLabel(ctx context.Context, id int32, label string, present bool) error {
	method := http.MethodPut
	if !present {
		method = http.MethodDelete
	}
	return e.do(ctx, call{op: "label experiment " + number(id), method: method, path: experimentPath(id) + "/labels/" + url.PathEscape(label)})
}

// RetainExperimentLogs keeps the logs of an experiment's trials for a number of days; -1 is forever.
func (e experiments) RetainExperimentLogs(ctx context.Context, id, days int32) error {
	return e.do(ctx, call{
		op: "set the log retention of experiment " + number(id), method: http.MethodPut, path: experimentPath(id) + "/retain_logs",
		in: &apiv1.PutExperimentRetainLogsRequest{ExperimentId: id, NumDays: days},
	})
}

// ExperimentFiles returns the response with the files that an experiment was created with; see
// agentv1.ContextArchive. The caller must close it.
func (e experiments) ExperimentFiles(ctx context.Context, id int32) (io.ReadCloser, error) {
	return e.sendWithRetries(ctx, call{
		op: "download the files of experiment " + number(id), method: http.MethodGet, path: experimentPath(id) + "/model_def",
	})
}
