package server

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/master/experiment"
)

// elsewhereBody is an experiment in the format of the client library.
const elsewhereBody = `{"config":"{name: mine, data: null, labels: null, searcher: {name: single, metric: loss}, workspace: null, project: null, checkpoint_storage: {type: directory, container_path: /home/ada/saved}}","unmanaged":true}`

func TestCallsOfUnmanagedProgram(t *testing.T) {
	t.Parallel()
	w := newWhole(t)
	w.someUser(t, "ada")
	ada := w.login(t, "ada")
	trial := `{"createTrialRequest":{"experimentId":2,"hparams":{"lr":0.1},"unmanaged":true},"externalTrialId":"first"}`
	w.play(t, []step{
		{"an experiment", put, "experiments/by-external-id/team/line", ada, elsewhereBody, 200, `"externalExperimentId":"team/line"`},
		{"the same", put, "experiments/by-external-id/team/line", ada, elsewhereBody, 200, `"id":2`},
		{"another user's", put, "experiments/by-external-id/team/line", w.user, elsewhereBody, 403, `only its owner ada and administrators may`},
		{"a name that ends as a path does", put, "experiments/by-external-id/team/line/", w.user, elsewhereBody, 200, `"externalExperimentId":"team/line/"`},
		{"a name that is no text", put, "experiments/by-external-id/%FF", w.user, elsewhereBody, 400, `must be text`},
		{"a name that is a path", put, "experiments/by-external-id/retain_logs", w.user, elsewhereBody, 200, `"id":4`},
		{"a managed one", put, "experiments/by-external-id/x", ada, strings.Replace(elsewhereBody, "true}", "false}", 1), 400, `unmanaged: must be set`},
		{"no searcher", put, "experiments/by-external-id/x", ada, `{"config":"{}","unmanaged":true}`, 400, `searcher`},
		{"a trial", put, "trials", ada, trial, 200, `"externalId":"first"`},
		{"the same trial", put, "trials", ada, trial, 200, `"state":"STATE_STARTING"`},
		{"a trial without a name", put, "trials", ada, `{"createTrialRequest":{"experimentId":2,"unmanaged":true}}`, 400, `external_trial_id: must not be empty`},
		{"a trial that is managed", post, "trials", ada, `{"experimentId":2}`, 400, `unmanaged: must be set`},
		{"a trial of the cluster's", post, "trials", w.user, `{"experimentId":1,"unmanaged":true}`, 400, `it is managed by the cluster`},
		{"a run", post, "trials/2/start", ada, `{"trialId":2,"resume":true}`, 200, `"trialRunId":1`},
		{"a run of another's", post, "trials/2/start", w.user, `{}`, 403, `trial 2 belongs to another user`},
		{"its storage", post, "runs/start", ada, `{"runId":2,"checkpointStorage":{"type":"directory","container_path":"/home/ada/saved"}}`, 200, `"storageId":1`},
		{"a heartbeat", patch, "trials/2", ada, `{"trialId":2}`, 200, `"state":"STATE_RUNNING"`},
		{"it runs", patch, "trials/2", ada, `{"trialId":2,"state":"STATE_RUNNING"}`, 200, `"state":"STATE_RUNNING"`},
		{"a pause", patch, "trials/2", ada, `{"trialId":2,"state":"STATE_PAUSED"}`, 400, `state: must be STATE_RUNNING`},
		{"a heartbeat of the cluster's", patch, "trials/1", w.user, `{}`, 400, `it is managed by the cluster`},
		{"metrics", post, "trials/2/metrics", ada, `{"group":"validation","metrics":{"trialId":2,"trialRunId":1,"stepsCompleted":10,"metrics":{"avgMetrics":{"loss":0.5}}}}`, 200, `{}`},
		{"metrics of whichever run is the present one", post, "trials/2/metrics", ada, `{"group":"validation","metrics":{"trialId":2,"stepsCompleted":11,"metrics":{"avgMetrics":{"loss":0.4}}}}`, 200, `{}`},
		{"metrics of run 0", post, "trials/2/metrics", ada, `{"group":"validation","metrics":{"trialId":2,"trialRunId":0,"stepsCompleted":12,"metrics":{"avgMetrics":{"loss":0.3}}}}`, 200, `{}`},
		{"its metrics", get, "trials/metrics/validation_metrics?trialIds=2", ada, "", 200, `"totalBatches":12,"archived":false,"id":3,"trialRunId":1`},
		{"an end", patch, "trials/2", ada, `{"trialId":2,"state":"STATE_COMPLETED"}`, 200, `"state":"STATE_COMPLETED"`},
		{"the experiment", get, "experiments/2", ada, "", 200, `"state":"STATE_COMPLETED"`},
		{"a pause of it", post, "experiments/2/pause", ada, "", 400, `it is unmanaged`},
	})
}

func TestLogOfUnmanagedProgram(t *testing.T) {
	t.Parallel()
	w := newWhole(t)
	owner, err := w.auth.User(2)
	if err != nil {
		t.Fatal(err)
	}
	made, err := w.x.Create(context.WithoutCancel(t.Context()), experiment.Order{By: owner, Config: `{searcher: {name: single, metric: loss}}`, Unmanaged: true})
	if err != nil {
		t.Fatal(err)
	}
	trial, err := w.x.CreateTrial(t.Context(), experiment.TrialOrder{By: owner, Experiment: made.View.ID})
	if err != nil {
		t.Fatal(err)
	}
	line := func(text string) string {
		return `[{"task_id":"` + trial.Task() + `","timestamp":"2026-01-02T03:04:05.678901+00:00","rank":"1","log":"` + text + `\n"}]`
	}
	for _, text := range []string{"WARNING: Loss is 0.5", "INFO: saved (twice)"} {
		if rec := w.ask(t, http.MethodPost, "/task-logs", w.user, line(text)); rec.Code != http.StatusOK {
			t.Fatalf("ship: %d %s", rec.Code, rec.Body)
		}
	}
	w.someUser(t, "eve")
	if rec := w.ask(t, http.MethodPost, "/task-logs", w.login(t, "eve"), line("forged")); rec.Code != http.StatusForbidden {
		t.Errorf("another user: got %d %s, want an error", rec.Code, rec.Body)
	}
	for query, want := range map[string]string{
		"":                                       "Loss|saved",
		"?levels=LOG_LEVEL_WARNING":              "Loss",
		"?rankIds=1":                             "Loss|saved",
		"?rankIds=0":                             "",
		"?searchText=loss":                       "Loss",
		"?searchText=loss+IS":                    "Loss",
		"?searchText=(twice)":                    "saved",
		"?searchText=s.*0%5C.5&enableRegex=true": "Loss",
		"?searchText=s.*0%5C.5":                  "",
	} {
		for _, path := range []string{"tasks/" + trial.Task() + "/logs", "trials/2/logs"} {
			rec := w.ask(t, http.MethodGet, prefix+path+query, w.user, "")
			var got []string
			for _, word := range []string{"Loss", "saved"} {
				if strings.Contains(rec.Body.String(), word) {
					got = append(got, word)
				}
			}
			if rec.Code != http.StatusOK || strings.Join(got, "|") != want {
				t.Errorf("%s%s: got %d with %q, want %q:\n%s", path, query, rec.Code, got, want, rec.Body)
			}
		}
	}
	rec := w.ask(t, http.MethodGet, prefix+"trials/2/logs?enableRegex=true&searchText=(", w.user, "")
	if rec.Code != http.StatusBadRequest || !strings.Contains(rec.Body.String(), "a valid regular expression") {
		t.Errorf("got %d %s, want an error", rec.Code, rec.Body)
	}
}

func TestMetricsOfCheckpointUsers(t *testing.T) {
	t.Parallel()
	w := newWhole(t)
	use := `{"trialSourceInfo":{"trialId":1,"checkpointUuid":"` + checkpointA + `","trialSourceInfoType":"TRIAL_SOURCE_INFO_TYPE_INFERENCE","modelId":1,"modelVersion":1}}`
	w.furnish(t)
	w.play(t, []step{
		{"a use", post, "trial-source-info", w.trial, use, 200, `"trialId":1`},
		{"a use of no kind", post, "trial-source-info", w.trial, strings.Replace(use, "INFERENCE", "UNSPECIFIED", 1), 400, `trial_source_info_type`},
		{"a use of nothing", post, "trial-source-info", w.trial, strings.Replace(use, checkpointA, "0", 1), 404, `checkpoint`},
		{"its metrics", post, "trials/1/metrics", w.trial, `{"group":"accuracy","metrics":{"trialId":1,"trialRunId":1,"stepsCompleted":7,"metrics":{"avgMetrics":{"top1":0.9}}}}`, 200, `{}`},
		{"of the checkpoint", get, "checkpoints/" + checkpointA + "/metrics", w.user, "", 200, `"top1":0.9`},
		{"of a group", get, "checkpoints/" + checkpointA + "/metrics?metricGroup=validation", w.user, "", 200, `"metrics":[]`},
		{"of a kind", get, "checkpoints/" + checkpointA + "/metrics?trialSourceInfoType=TRIAL_SOURCE_INFO_TYPE_FINE_TUNING", w.user, "", 200, `"metrics":[]`},
		{"of the version", get, "models/mnist/versions/1/metrics?metricGroup=accuracy", w.user, "", 200, `"totalBatches":7`},
		{"of no version", get, "models/mnist/versions/9/metrics", w.user, "", 404, `version`},
	})
}
