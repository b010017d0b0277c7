package server

import (
	"net/http"
	"strings"
	"testing"
)

// experimentDecisions are the decisions for experiments, trials and checkpoints. Bulk requests are
// permitted to all users because they return a result per experiment.
var experimentDecisions = map[string]string{
	"POST experiments":                     "user tools admin admin-tools",
	"POST experiments/continue":            "owner owner-tools admin",
	"POST preview-hp-search":               "user tools admin admin-tools",
	"GET experiments":                      "user tools admin admin-tools",
	"GET experiment/labels":                "user tools admin admin-tools",
	"GET experiments/{experiment}":         "user tools admin admin-tools task",
	"GET experiments/{experiment}/history": "user tools admin admin-tools",
	"GET experiments/{experiment}/searcher/best_searcher_validation_metric": "user tools admin admin-tools task",
	"POST experiments/{experiment}/pause":                                   "owner owner-tools admin",
	"POST experiments/{experiment}/activate":                                "owner owner-tools admin",
	"POST experiments/{experiment}/cancel":                                  "owner owner-tools admin",
	"POST experiments/{experiment}/kill":                                    "owner owner-tools admin",
	"POST experiments/{experiment}/archive":                                 "owner owner-tools admin",
	"POST experiments/{experiment}/unarchive":                               "owner owner-tools admin",
	"POST experiments/{experiment}/move":                                    "owner owner-tools admin",
	"DELETE experiments/{experiment}":                                       "owner owner-tools admin",
	"PATCH experiments/{experiment}":                                        "owner owner-tools admin",
	"PUT experiments/{experiment}/labels/{label}":                           "owner owner-tools admin",
	"DELETE experiments/{experiment}/labels/{label}":                        "owner owner-tools admin",
	"PUT experiments/{experiment}/retain_logs":                              "owner owner-tools admin",
	"POST projects/{project}/experiments/pause":                             "user tools admin admin-tools",
	"POST projects/{project}/experiments/activate":                          "user tools admin admin-tools",
	"POST projects/{project}/experiments/cancel":                            "user tools admin admin-tools",
	"POST projects/{project}/experiments/kill":                              "user tools admin admin-tools",
	"POST projects/{project}/experiments/archive":                           "user tools admin admin-tools",
	"POST projects/{project}/experiments/unarchive":                         "user tools admin admin-tools",
	"POST projects/{project}/experiments/move":                              "user tools admin admin-tools",
	"PUT projects/{project}/experiments/retain_logs":                        "user tools admin admin-tools",
	"DELETE projects/{project}/experiments/delete":                          "user tools admin admin-tools",
	"GET experiments/{experiment}/model_def":                                "owner owner-tools admin",
	"GET experiments/{experiment}/file_tree":                                "owner owner-tools admin",
	"POST experiments/{experiment}/file":                                    "owner owner-tools admin",
	"GET experiments/{experiment}/trials":                                   "user tools admin admin-tools",
	"GET trials/{trial}":                                                    "user tools admin admin-tools task",
	"GET trials/{trial}/workloads":                                          "user tools admin admin-tools",
	"GET trials/{trial}/remaining_log_retention_days":                       "user tools admin admin-tools",
	"POST trials/{trial}/kill":                                              "owner owner-tools admin",
	"PUT trials/{trial}/retain_logs":                                        "owner owner-tools admin",
	"POST trials/{trial}/progress":                                          "owner owner-tools admin task",
	"POST trials/{trial}/runner/metadata":                                   "owner owner-tools admin task",
	"POST trials/{trial}/early_exit":                                        "owner owner-tools admin task",
	"POST runs/start":                                                       "owner owner-tools admin task",
	"GET runs/{run}/metadata":                                               "user tools admin admin-tools task",
	"POST runs/{run}/metadata":                                              "owner owner-tools admin task",
	"GET trials/{trial}/logs":                                               "user owner-tools admin",
	"GET trials/{trial}/logs/fields":                                        "user owner-tools admin",
	"POST trials/{trial}/metrics":                                           "owner owner-tools admin task",
	"POST trials/{trial}/training_metrics":                                  "owner owner-tools admin task",
	"POST trials/{trial}/validation_metrics":                                "owner owner-tools admin task",
	"GET trials/metrics/trial_metrics":                                      "user tools admin admin-tools",
	"GET trials/metrics/training_metrics":                                   "user tools admin admin-tools",
	"GET trials/metrics/validation_metrics":                                 "user tools admin admin-tools",
	"GET trials/time-series":                                                "user tools admin admin-tools",
	"GET experiments/{experiment}/validation-history":                       "user tools admin admin-tools",
	"GET experiments/metrics-stream/metric-names":                           "user tools admin admin-tools",
	"GET experiments/{experiment}/metrics-stream/batches":                   "user tools admin admin-tools",
	"GET experiments/{experiment}/metrics-stream/trials-snapshot":           "user tools admin admin-tools",
	"GET experiments/{experiment}/metrics-stream/trials-sample":             "user tools admin admin-tools",
	"POST checkpoints":                                                      "owner owner-tools admin task",
	"PATCH checkpoints":                                                     "owner owner-tools admin task",
	"DELETE checkpoints":                                                    "owner owner-tools admin",
	"POST checkpoints/rm":                                                   "owner owner-tools admin",
	"GET checkpoints":                                                       "user tools admin admin-tools",
	"GET checkpoints/{checkpoint}":                                          "owner owner-tools admin any-task",
	"POST checkpoints/{checkpoint}/metadata":                                "owner owner-tools admin",
	"GET experiments/{experiment}/checkpoints":                              "user tools admin admin-tools",
	"GET trials/{trial}/checkpoints":                                        "user tools admin admin-tools",
	"DELETE experiments/{experiment}/tensorboard-files":                     "owner owner-tools admin",
	"GET /checkpoints/{checkpoint}":                                         "owner owner-tools admin",
	"GET /checkpoints/{checkpoint}/file":                                    "owner owner-tools admin",
	"PUT experiments/by-external-id/{external}":                             "user tools admin admin-tools",
	"POST trials":                                   "owner owner-tools admin",
	"PUT trials":                                    "owner owner-tools admin",
	"PATCH trials/{trial}":                          "owner owner-tools admin",
	"POST trials/{trial}/start":                     "owner owner-tools admin",
	"POST trial-source-info":                        "owner owner-tools admin task",
	"GET checkpoints/{checkpoint}/metrics":          "user tools admin admin-tools",
	"GET models/{model}/versions/{version}/metrics": "user tools admin admin-tools",
	"GET /experiments/{experiment}/preview_gc":      "owner owner-tools admin",
}

// furnish creates objects of the user, so that the access of others can be tested.
func (w *whole) furnish(t *testing.T) {
	t.Helper()
	launched := w.ask(t, http.MethodPost, prefix+"commands", w.user, `{"config":{"entrypoint":["ls"],"resources":{"slots":0}}}`)
	_, rest, _ := strings.Cut(squeeze(launched.Body.String()), `"id":"`)
	w.ids["command"], _, _ = strings.Cut(rest, `"`)
	launched = w.ask(t, http.MethodPost, prefix+"commands", w.user, `{"config":{"entrypoint":["ls"],"resources":{"slots":0}},"array":{"size":2}}`)
	_, rest, _ = strings.Cut(squeeze(launched.Body.String()), `"arrayId":"`)
	w.ids["array"], _, _ = strings.Cut(rest, `"`)
	w.play(t, []step{
		{"a workspace", post, "workspaces", w.user, `{"name":"team"}`, 200, `"id":2`},
		{"a project", post, "workspaces/2/projects", w.user, `{"name":"vision"}`, 200, `"id":2`},
		{"a template", post, "templates/small", w.user, `{"config":{"max_restarts":1}}`, 200, `"name":"small"`},
		{"a model", post, "models", w.user, `{"name":"mnist"}`, 200, `"id":1`},
		{"a checkpoint", post, "checkpoints", w.user, w.reportBody(checkpointA), 200, "{}"},
		{"a version", post, "models/mnist/versions", w.user, `{"checkpointUuid":"` + checkpointA + `"}`, 200, `"version":1`},
	})
	w.ids["workspace"], w.ids["project"], w.ids["template"], w.ids["model"], w.ids["version"] = "2", "2", "small", "mnist", "1"
}

// reportBody returns the report of a checkpoint of the trial.
func (w *whole) reportBody(uuid string) string {
	return strings.NewReplacer("1.t.1", w.ids["allocation"], "1.t", w.ids["task"]).Replace(reportBody(uuid, "10"))
}

// A bulk request does not change the experiments of other users.
func TestBulkRequestSkipsOtherUsersExperiments(t *testing.T) {
	t.Parallel()
	w := newWhole(t)
	w.someUser(t, "ada")
	other := w.login(t, "ada")
	for _, r := range w.routes() {
		if !strings.HasPrefix(r.path, "projects/{project}/experiments/") || r.in == nil {
			continue
		}
		body := `{"experimentIds":[` + w.ids["experiment"] + `],"destinationProjectId":1,"numDays":1}`
		rec := w.ask(t, r.method, strings.Replace(r.fullPath(), "{project}", "1", 1), other, body)
		if rec.Code != http.StatusOK || !strings.Contains(rec.Body.String(), "and administrators may") {
			t.Errorf("%s %s: got %d %s, want an error", r.method, r.path, rec.Code, rec.Body)
		}
	}
	if v, err := w.x.Get(w.experiment); err != nil || v.State != "ACTIVE" || v.Archived || v.LogDays != nil {
		t.Errorf("got %+v and %v, want the experiment as it was", v, err)
	}
}
