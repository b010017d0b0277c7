package show_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/det-deploy/det-deploy/cmd/internal/show"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func start() *timestamppb.Timestamp {
	return timestamppb.New(time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC))
}

func object(t *testing.T, m proto.Message) map[string]any {
	t.Helper()
	v, err := show.Object(m)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]any{}
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func command() *apiv1.Command {
	return &apiv1.Command{Id: "c-1", State: apiv1.Task_STATE_RUNNING, StartTime: start(), ExitCode: proto.Int32(3)}
}

// One thing has the same fields wherever it is shown.
func TestOneShapeForOneKind(t *testing.T) {
	t.Parallel()
	list := object(t, &apiv1.GetCommandsResponse{Commands: []*apiv1.Command{command()}})
	if list["apiVersion"] != "det-deploy/v2" || list["kind"] != "TaskList" || len(list) != 3 {
		t.Errorf("got the list %v", list)
	}
	item, _ := list["items"].([]any)[0].(map[string]any)
	if item["state"] != "running" || item["startTime"] != "2026-03-04T05:06:07Z" || item["exitCode"] != 3.0 {
		t.Errorf("got the item %v", item)
	}
	config, err := structpb.NewStruct(map[string]any{"entrypoint": []any{"true"}})
	if err != nil {
		t.Fatal(err)
	}
	one := object(t, &apiv1.GetCommandResponse{Command: command(), Config: config})
	if one["kind"] != "Task" {
		t.Errorf("got the kind %v", one["kind"])
	}
	for key, v := range item {
		if d := cmp.Diff(v, one[key]); d != "" {
			t.Errorf("%s differs between list and describe:\n%s", key, d)
		}
	}
	if d := cmp.Diff(map[string]any{"entrypoint": []any{"true"}}, one["config"]); d != "" {
		t.Errorf("config: want -, got +:\n%s", d)
	}
}

func TestAgentStates(t *testing.T) {
	t.Parallel()
	sick := &apiv1.AgentSickness{Lack: "disk"}
	for want, a := range map[string]*apiv1.Agent{
		"enabled":             {Enabled: true},
		"draining":            {Enabled: true, Draining: true},
		"sick (disk)":         {Enabled: true, Draining: true, Sick: sick},
		"lost":                {Enabled: true, Draining: true, Lost: true, Sick: sick},
		"disabled":            {},
		"administrators only": {Enabled: true, NotIsolated: "no runc"},
	} {
		if got := show.AgentState(a); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestObjectOfJobsIsUnwrapped(t *testing.T) {
	t.Parallel()
	list := object(t, &apiv1.GetJobsV2Response{Jobs: []*apiv1.RBACJob{{Full: &apiv1.Job{JobId: "j", Type: apiv1.Job_TYPE_CHECKPOINT_GC}}}})
	item, _ := list["items"].([]any)[0].(map[string]any)
	if list["kind"] != "JobList" || item["jobId"] != "j" || item["type"] != "checkpoint_gc" {
		t.Errorf("got %v", list)
	}
}

func TestEmptyListHasItems(t *testing.T) {
	t.Parallel()
	list := object(t, &apiv1.GetModelsResponse{})
	if d := cmp.Diff(map[string]any{"apiVersion": "det-deploy/v2", "kind": "ModelList", "items": []any{}}, list); d != "" {
		t.Errorf("want -, got +:\n%s", d)
	}
}

func TestNumbersAreNumbers(t *testing.T) {
	t.Parallel()
	c := object(t, &apiv1.Checkpoint{
		Uuid: "u", Resources: map[string]int64{"a": 1 << 40}, State: apiv1.Checkpoint_STATE_PARTIALLY_DELETED,
		Training: &apiv1.CheckpointTrainingMetadata{
			TrialId: wrapperspb.Int32(7), SearcherMetric: wrapperspb.Double(math.Inf(1)),
		},
	})
	training, _ := c["training"].(map[string]any)
	resources, _ := c["resources"].(map[string]any)
	if c["kind"] != "Checkpoint" || c["state"] != "partially_deleted" || resources["a"] != float64(1<<40) || training["trialId"] != 7.0 || training["searcherMetric"] != "Infinity" {
		t.Errorf("got %v", c)
	}
}

func TestDurations(t *testing.T) {
	t.Parallel()
	x := object(t, &apiv1.GetExperimentResponse{Experiment: &apiv1.Experiment{
		Id: 7, State: apiv1.Experiment_STATE_COMPLETED, StartTime: start(), EndTime: timestamppb.New(start().AsTime().Add(90 * time.Minute)),
	}})
	if x["kind"] != "Experiment" || x["durationSeconds"] != 5400.0 || x["state"] != "succeeded" {
		t.Errorf("got %v", x)
	}
}
