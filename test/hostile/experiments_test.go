package hostile_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// trialProgram replaces Python in alice's trial: it pretends to have every library, prints the
// trial's token and keeps running.
const trialProgram = `#!/bin/sh
[ "$1" = -c ] && exit 0
echo "TRIAL $DET_SESSION_TOKEN $DET_ALLOCATION_ID"
trap '' TERM
exec sleep 86400
`

// experiments creates an experiment of alice with a running trial.
func (w *world) experiments(ctx context.Context) {
	w.t.Helper()
	var made struct{ Experiment struct{ ID int } }
	w.must(ctx, "alice", call{method: "POST", path: "/api/v1/experiments", body: w.experimentBody()}, &made)
	w.name("experiment", fmt.Sprint(made.Experiment.ID))
	var list struct{ Trials []struct{ ID int } }
	w.must(ctx, "alice", call{method: "GET", path: "/api/v1/experiments/{experiment}/trials"}, &list)
	w.name("trial", fmt.Sprint(list.Trials[0].ID))
	w.name("run", w.names["trial"])
	var shown struct{ Trial struct{ TaskID string } }
	w.must(ctx, "alice", call{method: "GET", path: "/api/v1/trials/{trial}"}, &shown)
	words := strings.Fields(w.trialLine(ctx, shown.Trial.TaskID))
	w.tokens["trial"] = words[0]
	w.name("trial-task", shown.Trial.TaskID)
	w.name("trial-allocation", words[1])
	w.name("checkpoint", fmt.Sprintf("11111111-2222-4333-8444-%012d", made.Experiment.ID))
	if a, err := w.do(ctx, call{"POST", "/api/v1/checkpoints", checkpointBody, allocating(w.tokens["trial"])}); err != nil || !a.ok() {
		w.t.Fatalf("report a checkpoint of alice's trial: %s (%v)", a, err)
	}
	w.tensorboard(ctx)
	w.elsewhere(ctx)
	w.name("label", "vision")
	w.name("version", "1")
}

// tensorboard starts a TensorBoard of alice and waits for its end: it lacks the file that stands for Python.
func (w *world) tensorboard(ctx context.Context) {
	w.t.Helper()
	var board struct{ Tensorboard struct{ ID, State string } }
	w.must(ctx, "alice", call{method: "POST", path: "/api/v1/tensorboards", body: `{"experimentIds": [{experiment}]}`}, &board)
	w.name("tensorboard", board.Tensorboard.ID)
	for board.Tensorboard.State != "STATE_TERMINATED" {
		select {
		case <-ctx.Done():
			w.t.Fatalf("alice's TensorBoard does not end: %+v", board)
		case <-time.After(100 * time.Millisecond):
		}
		w.must(ctx, "alice", call{method: "GET", path: "/api/v1/tensorboards/{tensorboard}"}, &board)
	}
}

// elsewhereBody is an experiment whose programs run outside of the cluster.
const elsewhereBody = `{"config": "{name: hers, searcher: {name: single, metric: loss}, checkpoint_storage: {type: directory, container_path: /tmp/c}}", "unmanaged": true}`

// elsewhere creates an unmanaged experiment of alice with a trial.
func (w *world) elsewhere(ctx context.Context) {
	w.t.Helper()
	w.name("external", "hers")
	var made struct{ Experiment struct{ ID int } }
	w.must(ctx, "alice", call{method: "PUT", path: "/api/v1/experiments/by-external-id/{external}", body: elsewhereBody}, &made)
	w.name("elsewhere", fmt.Sprint(made.Experiment.ID))
	var trial struct{ Trial struct{ TaskID string } }
	w.must(ctx, "alice", call{method: "POST", path: "/api/v1/trials", body: `{"experimentId": {elsewhere}, "unmanaged": true}`}, &trial)
	w.name("elsewhere-task", trial.Trial.TaskID)
}

// experimentBody configures one trial that needs only a shell.
func (w *world) experimentBody() string {
	project, _ := strconv.Atoi(w.names["project"])
	config := map[string]any{
		"name": "hers", "entrypoint": "true", "max_restarts": 0, "preemption_timeout": 1,
		"searcher":           map[string]any{"name": "single", "metric": "loss"},
		"resources":          map[string]any{"slots_per_trial": w.slots},
		"environment":        map[string]any{"environment_variables": []string{"DET_PYTHON_EXECUTABLE=./python"}},
		"checkpoint_storage": map[string]any{"type": "directory", "container_path": "/tmp/checkpoints"},
	}
	return document(map[string]any{
		"config": document(config), "activate": true, "projectId": project,
		"modelDefinition": []any{map[string]any{
			"path": "python", "type": 48, "mode": 0o755, "content": base64.StdEncoding.EncodeToString([]byte(trialProgram)),
		}},
	})
}

// trialLine returns the line with the tokens that the program of alice's trial prints.
func (w *world) trialLine(ctx context.Context, task string) string {
	w.t.Helper()
	for {
		lines, err := w.log(ctx, "alice", task)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, l := range lines {
			if rest, found := strings.CutPrefix(l, "TRIAL "); found {
				return rest
			}
		}
		select {
		case <-ctx.Done():
			w.t.Fatalf("alice's trial does not run:\n%s", strings.Join(lines, "\n"))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

const (
	checkpointBody = `{"uuid": "{checkpoint}", "taskId": "{trial-task}", "allocationId": "{trial-allocation}", "reportTime": "2026-11-01T00:00:00Z",` +
		` "resources": {"a": "1"}, "metadata": {"steps_completed": 1}, "state": "STATE_COMPLETED"}`
	day      = "?timestampAfter=2026-01-01T00:00:00Z&timestampBefore=2026-01-02T00:00:00Z"
	days     = "?startDate=2026-01-01&endDate=2026-01-02&period=RESOURCE_ALLOCATION_AGGREGATION_PERIOD_DAILY"
	validity = `{"trialRunId": 1, "stepsCompleted": 1, "metrics": {"avgMetrics": {"loss": 1}}}`
	bulk     = `{"projectId": "{project}", "experimentIds": [{experiment}]}`
)

// experimentRequests are those about experiments and their trials. The trial's program reports
// metrics while it runs; then alice kills it and makes the requests that need an ended trial.
var experimentRequests = []request{
	{id: "POST /api/v1/preview-hp-search", by: "alice", user: true, body: `{"config": {"searcher": {"name": "single", "metric": "loss"}}, "seed": 1}`},
	{id: "GET /api/v1/experiments", by: "alice", user: true},
	{id: "GET /api/v1/experiment/labels", by: "alice", user: true},
	{id: "GET /api/v1/experiments/{experiment}", by: "alice", user: true},
	{id: "GET /api/v1/experiments/{experiment}/history", by: "alice", user: true},
	{id: "GET /api/v1/experiments/{experiment}/trials", by: "alice", user: true},
	{id: "GET /api/v1/experiments/{experiment}/checkpoints", by: "alice", user: true},
	{id: "GET /api/v1/experiments/{experiment}/validation-history", by: "alice", user: true},
	{id: "POST /api/v1/tensorboards", by: "alice", user: true, body: `{"experimentIds": [{elsewhere}]}`, unseen: "none of its trials has started"},
	{id: "GET /api/v1/tensorboards", by: "alice", user: true},
	{id: "GET /api/v1/tensorboards/{tensorboard}", by: "alice", user: true},
	{id: "POST /api/v1/tensorboards/{tensorboard}/set_priority", by: "alice", body: `{"priority": 43}`, unseen: "it has ended"},
	{id: "POST /api/v1/tensorboards/{tensorboard}/kill", by: "alice"},
	{id: "GET /api/v1/experiments/{experiment}/model_def", by: "alice"},
	{id: "GET /api/v1/experiments/{experiment}/file_tree", by: "alice"},
	{id: "POST /api/v1/experiments/{experiment}/file", by: "alice", body: `{"path": "python"}`},
	{id: "GET /experiments/{experiment}/preview_gc", query: "?save_experiment_best=0&save_trial_best=1&save_trial_latest=1", by: "alice"},
	{id: "GET /api/v1/trials/{trial}", by: "alice", user: true},
	{id: "GET /api/v1/trials/{trial}/checkpoints", by: "alice", user: true},
	{id: "GET /api/v1/trials/{trial}/logs", by: "alice"},
	{id: "GET /api/v1/trials/{trial}/logs/fields", by: "alice"},
	{id: "GET /api/v1/trials/{trial}/remaining_log_retention_days", by: "alice", user: true},
	{id: "GET /api/v1/trials/{trial}/workloads", by: "alice", user: true},
	{id: "GET /api/v1/resources/allocation/raw", query: day, by: "alice", user: true},
	{id: "GET /api/v1/resources/allocation/aggregated", query: days, by: "alice", user: true},
	{id: "GET /api/v1/resources/usage", query: day + "&group_by=RESOURCE_USAGE_GROUP_POOL", by: "alice", user: true},
	{id: "GET /resources/allocation/raw", query: day, by: "alice", user: true},
	{id: "GET /resources/allocation/aggregated", query: days, by: "alice", user: true},
	{id: "GET /resources/allocation/allocations-csv", query: day, by: "alice", user: true},
	{id: "PATCH /api/v1/experiments/{experiment}", by: "alice", body: `{"id": {experiment}, "notes": "forged"}`},
	{id: "PUT /api/v1/experiments/{experiment}/labels/{label}", by: "alice"},
	{id: "DELETE /api/v1/experiments/{experiment}/labels/{label}", by: "alice"},
	{id: "PUT /api/v1/experiments/{experiment}/retain_logs", by: "alice", body: `{"experimentId": {experiment}, "numDays": 9}`},
	{id: "PUT /api/v1/trials/{trial}/retain_logs", by: "alice", body: `{"trialId": {trial}, "numDays": 9}`},
	{id: "POST /api/v1/experiments/{experiment}/move", by: "alice", body: `{"experimentId": {experiment}, "destinationProjectId": {project}}`},

	{id: "POST /api/v1/runs/start", by: "trial", body: `{"runId": {run}}`},
	{id: "POST /api/v1/runs/{run}/metadata", by: "trial", body: `{"runId": {run}, "metadata": {"forged": true}}`},
	{id: "GET /api/v1/runs/{run}/metadata", by: "alice", user: true},
	{id: "POST /api/v1/trials/{trial}/progress", by: "trial", body: `{"trialId": {trial}, "progress": 0.5, "isRaw": true}`},
	{id: "POST /api/v1/trials/{trial}/runner/metadata", by: "trial", body: `{"trialId": {trial}, "metadata": {"state": "forged"}}`},
	{id: "POST /api/v1/trials/{trial}/metrics", by: "trial", body: `{"metrics": {"trialId": {trial}, "trialRunId": 1, "stepsCompleted": 1, "metrics": {"avgMetrics": {"loss": 1}}}, "group": "validation"}`},
	{id: "POST /api/v1/trials/{trial}/training_metrics", by: "trial", body: validity},
	{id: "POST /api/v1/trials/{trial}/validation_metrics", by: "trial", body: validity},
	{id: "GET /api/v1/experiments/{experiment}/searcher/best_searcher_validation_metric", by: "alice", user: true},
	{id: "POST /api/v1/checkpoints", by: "trial", body: checkpointBody},
	{id: "GET /api/v1/checkpoints", by: "alice", user: true},
	{id: "GET /api/v1/checkpoints/{checkpoint}", by: "alice"},
	{id: "POST /api/v1/checkpoints/{checkpoint}/metadata", by: "alice", body: `{"checkpoint": {"uuid": "{checkpoint}", "metadata": {"forged": true}}}`},
	{id: "PATCH /api/v1/checkpoints", by: "trial", body: `{"checkpoints": [{"uuid": "{checkpoint}", "resources": {"resources": {"a": "1"}}}]}`},
	{id: "GET /checkpoints/{checkpoint}", by: "alice", unseen: "its directory is inside of the trial's container"},
	{id: "GET /checkpoints/{checkpoint}/file", by: "alice", query: "path=a", unseen: "its directory is inside of the trial's container"},
	{id: "POST /api/v1/trial-source-info", by: "trial", body: `{"trialSourceInfo": {"trialId": {trial}, "checkpointUuid": "{checkpoint}", "trialSourceInfoType": "TRIAL_SOURCE_INFO_TYPE_INFERENCE"}}`},
	{id: "GET /api/v1/checkpoints/{checkpoint}/metrics", by: "alice", user: true},
	{id: "PUT /api/v1/experiments/by-external-id/{external}", by: "alice", body: elsewhereBody},
	{id: "POST /api/v1/trials", by: "alice", body: `{"experimentId": {elsewhere}, "unmanaged": true}`},
	{id: "PUT /api/v1/trials", by: "alice", body: `{"createTrialRequest": {"experimentId": {elsewhere}, "unmanaged": true}, "externalTrialId": "forged"}`},
	{id: "PATCH /api/v1/trials/{trial}", by: "alice", body: `{"trialId": {trial}, "state": "STATE_COMPLETED"}`, unseen: "the trial is one that the cluster runs"},
	{id: "POST /api/v1/trials/{trial}/start", by: "alice", body: `{"trialId": {trial}, "resume": true}`, unseen: "the trial is one that the cluster runs"},
	{id: "POST /task-logs", by: "alice", body: `[{"task_id": "{elsewhere-task}", "rank": "0", "log": "forged\n"}]`},
	{id: "GET /api/v1/trials/metrics/training_metrics", query: "?trialIds={trial}", by: "alice", user: true},
	{id: "GET /api/v1/trials/metrics/validation_metrics", query: "?trialIds={trial}", by: "alice", user: true},
	{id: "GET /api/v1/trials/metrics/trial_metrics", query: "?trialIds={trial}&group=validation", by: "alice", user: true},
	{id: "GET /api/v1/trials/time-series", query: "?trialIds={trial}&metricNames=loss&group=validation", by: "alice", user: true},
	{id: "POST /api/v1/models/{model}/versions", by: "alice", body: `{"modelName": "{model}", "checkpointUuid": "{checkpoint}"}`},
	{id: "GET /api/v1/models/{model}/versions/{version}", by: "alice", user: true},
	{id: "GET /api/v1/models/{model}/versions/{version}/metrics", by: "alice", user: true},
	{id: "PATCH /api/v1/models/{model}/versions/{version}", by: "alice", body: `{"notes": "forged"}`},
	{id: "DELETE /api/v1/models/{model}/versions/{version}", by: "alice"},
	{id: "POST /api/v1/experiments", by: "alice", user: true, body: `{"config": "{name: x, entrypoint: \"true\", searcher: {name: single, metric: loss}, checkpoint_storage: {type: directory, container_path: /tmp/c}}", "validateOnly": true}`},
	{id: "POST /api/v1/trials/{trial}/early_exit", by: "trial", last: true, body: `{"reason": "EXITED_REASON_INVALID_HP"}`},
	{id: "POST /api/v1/projects/{project}/experiments/pause", by: "alice", user: true, last: true, body: bulk},
	{id: "POST /api/v1/projects/{project}/experiments/activate", by: "alice", user: true, last: true, body: bulk},
	{id: "POST /api/v1/projects/{project}/experiments/move", by: "alice", user: true, last: true, body: `{"projectId": "{project}", "destinationProjectId": "{project}", "experimentIds": [{experiment}]}`},
	{id: "PUT /api/v1/projects/{project}/experiments/retain_logs", by: "alice", user: true, last: true, body: `{"projectId": "{project}", "experimentIds": [{experiment}], "numDays": 9}`},
	{id: "POST /api/v1/experiments/{experiment}/pause", by: "alice", last: true},
	{id: "POST /api/v1/experiments/{experiment}/activate", by: "alice", last: true},
	{id: "POST /api/v1/experiments/{experiment}/cancel", by: "alice", last: true},
	{id: "POST /api/v1/projects/{project}/experiments/cancel", by: "alice", user: true, last: true, body: bulk},
	{id: "POST /api/v1/trials/{trial}/kill", by: "alice", last: true},
	{id: "POST /api/v1/experiments/{experiment}/kill", by: "alice", last: true},
	{id: "POST /api/v1/projects/{project}/experiments/kill", by: "alice", user: true, last: true, body: bulk},
	{id: "GET /api/v1/experiments/metrics-stream/metric-names", query: "?ids={experiment}", by: "alice", user: true, last: true},
	{id: "GET /api/v1/experiments/{experiment}/metrics-stream/batches", query: "?metricName=loss&group=validation", by: "alice", user: true, last: true},
	{id: "GET /api/v1/experiments/{experiment}/metrics-stream/trials-sample", query: "?metricName=loss&group=validation&maxTrials=1", by: "alice", user: true, last: true},
	{id: "GET /api/v1/experiments/{experiment}/metrics-stream/trials-snapshot", query: "?metricName=loss&group=validation&batchesProcessed=1", by: "alice", user: true, last: true},
	{id: "POST /api/v1/experiments/{experiment}/archive", by: "alice", last: true},
	{id: "POST /api/v1/experiments/{experiment}/unarchive", by: "alice", last: true},
	{id: "POST /api/v1/projects/{project}/experiments/archive", by: "alice", user: true, last: true, body: bulk},
	{id: "POST /api/v1/projects/{project}/experiments/unarchive", by: "alice", user: true, last: true, body: bulk},
	{id: "POST /api/v1/checkpoints/rm", by: "alice", last: true, body: `{"checkpointUuids": ["{checkpoint}"], "checkpointGlobs": []}`},
	{id: "DELETE /api/v1/experiments/{experiment}/tensorboard-files", by: "alice", last: true, unseen: "no library is there to delete files"},
	{id: "DELETE /api/v1/checkpoints", by: "alice", last: true, body: `{"checkpointUuids": ["{checkpoint}"]}`},
	{id: "POST /api/v1/experiments/continue", by: "alice", last: true, body: `{"id": {experiment}}`, unseen: "its checkpoint was deleted just before"},
	{id: "DELETE /api/v1/projects/{project}/experiments/delete", by: "alice", user: true, last: true, body: bulk},
	{id: "DELETE /api/v1/experiments/{experiment}", by: "alice", last: true},
}
