package server

import (
	"net/http"
	"strings"
	"testing"
)

// Content of an experiment, a trial or a checkpoint is visible only to the owner, by whichever reference.
// Other users see that a checkpoint exists, but neither its metadata nor its files.
func TestExperimentContentIsVisibleOnlyToOwner(t *testing.T) {
	t.Parallel()
	w := newWhole(t)
	w.furnish(t)
	ada := w.someUser(t, "ada")
	task, tools, err := w.auth.TaskTokens(t.Context(), ada.GetId(), "t3.1")
	if err != nil {
		t.Fatal(err)
	}
	other := w.login(t, "ada")
	create := func(searcher string) string {
		return `{"validateOnly":true,"config":"{name: a, entrypoint: b, searcher: {name: single, metric: loss` + searcher + `}}"}`
	}
	w.play(t, []step{
		{"a model", post, "models", other, `{"name":"hers"}`, 200, ""},
		{"a template", post, "templates/start", other, `{"config":{"searcher":{"source_checkpoint_uuid":"` + checkpointA + `"}}}`, 200, ""},
		{"a model of the owner", post, "models", w.user, `{"name":"his"}`, 200, ""},
	})
	id, trial := w.ids["experiment"], w.ids["trial"]
	for _, tt := range []struct{ name, method, path, body string }{
		{"a fork", post, "experiments", strings.Replace(create(""), "{", `{"parentId":`+id+`,`, 1)},
		{"a start from a checkpoint", post, "experiments", create(", source_checkpoint_uuid: " + checkpointA)},
		{"a start from a trial", post, "experiments", create(", source_trial_id: " + trial)},
		{"a start by a template", post, "experiments", strings.Replace(create(""), "{", `{"template":"start",`, 1)},
		{"a checkpoint", http.MethodGet, "checkpoints/" + checkpointA, ""},
		{"the files", http.MethodGet, "experiments/" + id + "/file_tree", ""},
	} {
		for caller, token := range map[string]string{"another user": other, "another user's tools": string(tools)} {
			if rec := w.ask(t, tt.method, prefix+tt.path, token, tt.body); rec.Code != http.StatusForbidden {
				t.Errorf("%s by %s: got %d %s, want it refused", tt.name, caller, rec.Code, rec.Body)
			}
		}
		if rec := w.ask(t, tt.method, prefix+tt.path, w.user, tt.body); rec.Code != http.StatusOK {
			t.Errorf("%s by the owner: got %d %s", tt.name, rec.Code, rec.Body)
		}
	}
	register := `{"checkpointUuid":"` + checkpointA + `"}`
	w.play(t, []step{
		{"another task's token", http.MethodGet, "checkpoints/" + checkpointA, string(task), "", 403, "only its owner determined and administrators may"},
		{"a version", post, "models/hers/versions", other, register, 403, "only its owner determined and administrators may"},
		{"a version of the owner's", post, "models/his/versions", w.user, register, 200, "weights"},
	})
	if rec := w.ask(t, http.MethodGet, "/checkpoints/"+checkpointA, other, ""); rec.Code != http.StatusForbidden {
		t.Errorf("a download by another user: got %d %s, want it refused", rec.Code, rec.Body)
	}
	for _, path := range []string{
		"checkpoints", "experiments/" + id + "/checkpoints", "trials/" + trial + "/checkpoints", "trials/" + trial + "/workloads",
		"models/his/versions", "models/his/versions/1",
	} {
		for token, shown := range map[string]bool{other: false, w.user: true} {
			rec := w.ask(t, http.MethodGet, prefix+path, token, "")
			body := rec.Body.String()
			if rec.Code != http.StatusOK || !strings.Contains(body, checkpointA) {
				t.Errorf("%s: got %d %s, want the checkpoint listed", path, rec.Code, body)
			}
			if strings.Contains(body, "weights") != shown || strings.Contains(body, "steps_completed") != shown {
				t.Errorf("%s: got %s, want the content shown: %v", path, body, shown)
			}
		}
	}
}
