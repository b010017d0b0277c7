package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// ElsewhereExperiments manages experiments whose programs run outside of the cluster.
type ElsewhereExperiments interface {
	// Put returns the experiment with an external ID. It creates the experiment if it does not exist.
	Put(ctx context.Context, by *apiv1.User, externalID string, r *apiv1.CreateExperimentRequest, contents func(file int) (io.Reader, int64)) (*apiv1.PutExperimentResponse, error)
}

// ElsewhereTrials manages trials whose programs run outside of the cluster. All methods are idempotent.
type ElsewhereTrials interface {
	// CreateTrial creates a trial. If there is a trial with the external ID, it returns that trial.
	CreateTrial(ctx context.Context, by *apiv1.User, externalID string, r *apiv1.CreateTrialRequest) (*apiv1.Trial, error)
	// StartTrial starts a run, with resume from the latest checkpoint.
	StartTrial(ctx context.Context, by *apiv1.User, trial int32, resume bool) (*apiv1.StartTrialResponse, error)
	// PatchTrial records that the program is alive or, with a state, that it has ended.
	PatchTrial(ctx context.Context, by *apiv1.User, trial int32, state *apiv1.Trial_State) (*apiv1.Trial, error)
}

// elsewhereCalls serves the calls that programs outside of the cluster make with their user's token.
type elsewhereCalls struct{ *logCalls }

// externalPath is the path prefix for experiments by external ID. The remainder may contain any
// characters.
const externalPath = "experiments/by-external-id/"

func (e *elsewhereCalls) routes() []route {
	var list []route
	if e.cfg.Tasks != nil && e.cfg.Logs != nil {
		list = append(list, sizedCall(postRoute("/task-logs", user, listCall(&apiv1.TaskLog{}, e.shipLines)), logsLimit))
	}
	if e.cfg.Experiments == nil || e.cfg.Trials == nil {
		return list
	}
	return append(list,
		auditedRoute("experiment.create", sizedCall(
			route{method: http.MethodPut, path: externalPath + "{external}", access: user, endpoint: unaryCall(e.putExperiment)}, large)),
		auditedRoute("trial.create", postRoute("trials", user, unaryCall(e.createTrial))),
		auditedRoute("trial.create", route{method: http.MethodPut, path: "trials", access: user, endpoint: unaryCall(e.putTrial)}),
		route{method: http.MethodPatch, path: "trials/{trial}", access: user, endpoint: unaryCall(e.patchTrial)},
		postRoute("trials/{trial}/start", user, unaryCall(e.startTrial)),
	)
}

func (e *elsewhereCalls) putExperiment(c *call, in *apiv1.CreateExperimentRequest) (*apiv1.PutExperimentResponse, error) {
	out, err := e.cfg.Experiments.Put(c.Context(), c.user, c.PathValue("external"), in, c.intake.contents)
	c.noteTarget(shownNumber(out.GetExperiment().GetId()))
	return out, err
}

func (e *elsewhereCalls) createTrial(c *call, in *apiv1.CreateTrialRequest) (*apiv1.CreateTrialResponse, error) {
	t, err := e.cfg.Trials.CreateTrial(c.Context(), c.user, "", in)
	c.noteTarget(shownNumber(t.GetId()))
	return &apiv1.CreateTrialResponse{Trial: t}, err
}

func (e *elsewhereCalls) putTrial(c *call, in *apiv1.PutTrialRequest) (*apiv1.PutTrialResponse, error) {
	if in.GetExternalTrialId() == "" {
		return nil, status.New(status.InvalidArgument, "external_trial_id: must not be empty; to create a trial without one, use POST")
	}
	t, err := e.cfg.Trials.CreateTrial(c.Context(), c.user, in.GetExternalTrialId(), in.GetCreateTrialRequest())
	c.noteTarget(shownNumber(t.GetId()))
	return &apiv1.PutTrialResponse{Trial: t}, err
}

func (e *elsewhereCalls) patchTrial(c *call, in *apiv1.PatchTrialRequest) (*apiv1.PatchTrialResponse, error) {
	id, err := e.reported(c)
	if err != nil {
		return nil, err
	}
	t, err := e.cfg.Trials.PatchTrial(c.Context(), c.user, id, in.State)
	return &apiv1.PatchTrialResponse{Trial: t}, err
}

func (e *elsewhereCalls) startTrial(c *call, in *apiv1.StartTrialRequest) (*apiv1.StartTrialResponse, error) {
	id, err := e.reported(c)
	if err != nil {
		return nil, err
	}
	return e.cfg.Trials.StartTrial(c.Context(), c.user, id, in.GetResume())
}

// reported returns the trial of a reporting call.
func (e *elsewhereCalls) reported(c *call) (int32, error) {
	return (&reportCalls{e.shared}).reported(c)
}

// shippedLine is a log line in the format of the client library outside of the cluster.
type shippedLine struct {
	TaskID    string     `json:"task_id"`
	Timestamp *time.Time `json:"timestamp"`
	// Rank is a number or its text.
	Rank any    `json:"rank"`
	Log  string `json:"log"`
}

// shipLines accepts log lines of a trial's program.
func (e *elsewhereCalls) shipLines(c *call, lines []shippedLine) (*apiv1.PostTaskLogsResponse, error) {
	in := &apiv1.PostTaskLogsRequest{}
	for _, l := range lines {
		m := &apiv1.TaskLog{TaskId: l.TaskID, Log: l.Log}
		if l.Timestamp != nil {
			m.Timestamp = timestamppb.New(*l.Timestamp)
		}
		if rank, err := strconv.ParseUint(fmt.Sprint(l.Rank), 10, 31); err == nil {
			m.RankId = new(int32(rank)) //nolint:gosec // it has 31 bits
		}
		in.Logs = append(in.Logs, m)
	}
	return e.shipLogs(c, in)
}

// listCall returns the endpoint of a call whose body is a list, which cannot be a message. item is a
// message that has the fields of an item.
func listCall[T, O any, Out message[O]](item proto.Message, do func(*call, []T) (Out, error)) endpoint {
	e := plainCall(func(c *call) (Out, error) {
		b, err := c.intake.receiveBounded()
		if err != nil {
			return nil, err
		}
		var in []T
		if err := json.Unmarshal(b, &in); err != nil {
			return nil, status.New(status.InvalidArgument, "invalid request body: %s", plainText(err))
		}
		if len(in) > mostItems {
			return nil, status.New(status.InvalidArgument, "the request body must have at most %d entries (has %d); send smaller requests", mostItems, len(in))
		}
		return do(c, in)
	})
	e.in, e.list = item.ProtoReflect().Descriptor(), true
	return e
}

// externalFirst routes experiments by external ID before the mux interprets their paths.
func externalFirst(r route, put, rest http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		id, found := strings.CutPrefix(req.URL.Path, prefix+externalPath)
		if !found || req.Method != r.method {
			rest.ServeHTTP(w, req)
			return
		}
		req.SetPathValue("external", id)
		req.Pattern = r.method + " " + r.fullPath()
		put.ServeHTTP(w, req)
	})
}
