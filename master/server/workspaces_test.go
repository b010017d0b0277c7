package server

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/master/checkpoint"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/store"
)

// step is a call with its expected response.
type step struct {
	name, method, path, token, body string
	code                            int
	want                            string
}

// workspaceDecisions are the decisions for workspaces and their contents.
var workspaceDecisions = map[string]string{
	"POST workspaces":                                     "user admin",
	"PATCH workspaces/{workspace}":                        "owner admin",
	"DELETE workspaces/{workspace}":                       "owner admin",
	"POST workspaces/{workspace}/archive":                 "owner admin",
	"POST workspaces/{workspace}/unarchive":               "owner admin",
	"POST workspaces/{workspace}/pin":                     "user admin",
	"POST workspaces/{workspace}/unpin":                   "user admin",
	"GET workspaces/{workspace}/available-resource-pools": "user tools admin admin-tools",
	"GET workspaces/{workspace}/list-namespace-bindings":  "user tools admin admin-tools",
	"GET workspaces/{workspace}/projects":                 "user tools admin admin-tools",
	"POST workspaces/{workspace}/projects":                "user admin",
	"GET projects/{project}":                              "user tools admin admin-tools",
	"GET projects/key/{key}":                              "user tools admin admin-tools",
	"PATCH projects/{project}":                            "owner admin",
	"DELETE projects/{project}":                           "owner admin",
	"POST projects/{project}/archive":                     "owner admin",
	"POST projects/{project}/unarchive":                   "owner admin",
	"POST projects/{project}/move":                        "owner admin",
	"POST projects/{project}/notes":                       "owner admin",
	"PUT projects/{project}/notes":                        "owner admin",
	"GET templates":                                       "user tools admin admin-tools",
	"GET templates/{template}":                            "user tools admin admin-tools",
	"POST templates/{template}":                           "user admin",
	"PUT templates/{template}":                            "owner admin",
	"PATCH templates/{template}":                          "owner admin",
	"PATCH template/rename":                               "user admin",
	"DELETE templates/{template}":                         "owner admin",
	"GET models":                                          "user tools admin admin-tools",
	"GET model/labels":                                    "user tools admin admin-tools",
	"GET models/{model}":                                  "user tools admin admin-tools",
	"GET models/{model}/versions":                         "user tools admin admin-tools",
	"GET models/{model}/versions/{version}":               "user tools admin admin-tools",
	"POST models":                                         "user tools admin admin-tools",
	"PATCH models/{model}":                                "owner owner-tools admin",
	"POST models/{model}/move":                            "owner owner-tools admin",
	"POST models/{model}/archive":                         "owner owner-tools admin",
	"POST models/{model}/unarchive":                       "owner owner-tools admin",
	"DELETE models/{model}":                               "owner owner-tools admin",
	"POST models/{model}/versions":                        "owner owner-tools admin",
	"PATCH models/{model}/versions/{version}":             "owner owner-tools admin",
	"DELETE models/{model}/versions/{version}":            "owner owner-tools admin",
}

func (w *world) play(t *testing.T, steps []step) {
	t.Helper()
	for _, s := range steps {
		rec := w.ask(t, s.method, "/api/v1/"+s.path, s.token, s.body)
		if got := squeeze(rec.Body.String()); rec.Code != s.code || !strings.Contains(got, s.want) {
			t.Errorf("%s: got %d %s\nwant %d with %s", s.name, rec.Code, got, s.code, s.want)
		}
	}
}

const (
	get, post, put, patch, del = http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete
)

func TestWorkspacesAndProjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin, user := w.admin, w.user
	w.play(t, []step{
		{"the first one", get, "workspaces/1", user, "", 200, `"name":"Uncategorized","archived":false,"username":"admin","immutable":true,"numProjects":1`},
		{"make one", post, "workspaces", user, `{"name":"team","agentUserGroup":null,"checkpointStorageConfig":null,"defaultComputePool":null}`, 200, `"name":"team"`},
		{"clients need a map", post, "workspaces", user, `{"name":"Team 2"}`, 200, `"namespaceBindings":{}`},
		{"twice", post, "workspaces", user, `{"name":"team"}`, 409, `workspace 'team' already exists`},
		{"a name is not a part of it", get, "workspaces?name=TEAM", user, "", 200, `"total":1`},
		{"exactly", get, "workspaces?nameCaseSensitive=TEAM", user, "", 200, `"total":0`},
		{"by name", get, "workspaces?sortBy=SORT_BY_NAME&orderBy=ORDER_BY_DESC&limit=1", user, "", 200, `"name":"Uncategorized"`},
		{"pinned", get, "workspaces?pinned=true", user, "", 200, `"total":2`},
		{"pinned by another", get, "workspaces?pinned=true", admin, "", 200, `"total":0`},
		{"of a user", get, "workspaces?userIds=1", user, "", 200, `"total":1`},
		{"change it", patch, "workspaces/2", user, `{"name":"crew","defaultComputeResourcePool":null,"checkpointStorageConfig":{"type":"gcs","bucket":"b"}}`, 200, `"checkpointStorageConfig":{"bucket":"b","type":"gcs"}`},
		{"take the storage away", patch, "workspaces/2", user, `{"checkpointStorageConfig":{}}`, 200, `"name":"crew"`},
		{"its pools", get, "workspaces/2/available-resource-pools", user, "", 200, `"resourcePools":["default"]`},
		{"its namespaces", get, "workspaces/2/list-namespace-bindings", user, "", 200, `{"namespaceBindings":{}}`},
		{"no pools of nothing", get, "workspaces/77/available-resource-pools", user, "", 404, `workspace '77' not found`},
		{"not a number", get, "workspaces/x", user, "", 404, `workspace 'x' not found`},
		{"make a project", post, "workspaces/2/projects", user, `{"name":"vision","workspaceId":2,"description":"d","key":null}`, 200, `"key":"VIS"`},
		{"and another", post, "workspaces/2/projects", user, `{"name":"vision two"}`, 200, `"workspaceName":"crew"`},
		{"a project by its name", get, "workspaces/2/projects?name=Vision", user, "", 200, `"total":1`},
		{"by its key", get, "projects/key/vis", user, "", 200, `"name":"vision"`},
		{"in the order of names", get, "workspaces/2/projects?sortBy=SORT_BY_NAME&orderBy=ORDER_BY_DESC&limit=1", user, "", 200, `"name":"vision two"`},
		{"all projects", get, "workspaces/0/projects", user, "", 200, `"total":3`},
		{"change a project", patch, "projects/2", user, `{"name":null,"description":"other"}`, 200, `"name":"vision","workspaceId":2,"description":"other"`},
		{"a note", post, "projects/2/notes", user, `{"name":"n","contents":"c"}`, 200, `{"notes":[{"name":"n","contents":"c"}]}`},
		{"other notes", put, "projects/2/notes", user, `{"notes":[{"name":"a","contents":""},{"name":"b","contents":""}],"projectId":2}`, 200, `"name":"b"`},
		{"archive a project", post, "projects/2/archive", user, "", 200, `{}`},
		{"it stays as it is", patch, "projects/2", user, `{"name":"x"}`, 400, `archived`},
		{"without archived ones", get, "workspaces/2/projects?archived=false", user, "", 200, `"total":1`},
		{"take it back", post, "projects/2/unarchive", user, "", 200, `{}`},
		{"move it", post, "projects/2/move", user, `{"projectId":2,"destinationWorkspaceId":3}`, 200, `{}`},
		{"it is there", get, "workspaces/3/projects", user, "", 200, `"name":"vision"`},
		{"unpin", post, "workspaces/2/unpin", user, "", 200, `{}`},
		{"archive", post, "workspaces/2/archive", user, "", 200, `{}`},
		{"archived ones", get, "workspaces?archived=true", user, "", 200, `"name":"crew"`},
		{"delete a project", del, "projects/2", user, "", 200, `{"completed":true}`},
		{"which is gone", get, "projects/2", user, "", 404, `project '2' not found`},
		{"delete a workspace", del, "workspaces/2", user, "", 200, `{"completed":true}`},
		{"with its projects", get, "workspaces/0/projects", user, "", 200, `"total":1`},
		{"not the first one", post, "workspaces/1/archive", user, "", 400, `cannot be changed`},
		{"not even by an administrator", post, "workspaces/1/archive", admin, "", 400, `cannot be changed`},
	})
}

func TestModels(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	user, tools, other := w.user, w.tools, w.admin
	const uuid = "11111111-1111-4111-8111-111111111111"
	w.saved(t, uuid)
	w.play(t, []step{
		{"none", get, "models?offset=0&orderBy=ORDER_BY_ASC&sortBy=SORT_BY_LAST_UPDATED_TIME", user, "", 200, `"models":[]`},
		{"make one", post, "models", user, `{"name":"mnist","description":"d","labels":["b","a"],"metadata":null,"notes":null,"workspaceName":null}`, 200, `"id":1,"numVersions":0,"labels":["b","a"],"username":"determined","workspaceId":1`},
		{"and another", post, "models", tools, `{"name":"ac - Dc","labels":["a"],"workspaceName":"Uncategorized"}`, 200, `"id":2`},
		{"in no workspace", post, "models", user, `{"name":"x","workspaceName":"nobody"}`, 404, `workspace 'nobody' not found`},
		{"the same name", post, "models", user, `{"name":"MNIST"}`, 409, `model 'mnist' already exists`},
		{"by its number", get, "models/1", user, "", 200, `"name":"mnist"`},
		{"by its name", get, "models/Mnist", user, "", 200, `"id":1`},
		{"not there", get, "models/none", user, "", 404, `model 'none' not found`},
		{"in the order of names", get, "models?sortBy=SORT_BY_NAME&limit=1", user, "", 200, `"name":"ac - Dc"`},
		{"with a label", get, "models?labels=b", user, "", 200, `"total":1`},
		{"of workspaces", get, "models?workspaceNames=Uncategorized", user, "", 200, `"total":2`},
		{"of no workspace", get, "models?workspaceNames=nobody", user, "", 404, `workspace 'nobody' not found`},
		{"all labels", get, "model/labels", user, "", 200, `{"labels":["a","b"]}`},
		{"metadata", patch, "models/mnist", user, `{"metadata":{"k":1}}`, 200, `"metadata":{"k":1}`},
		{"labels stay", patch, "models/mnist", user, `{"description":"e","labels":null}`, 200, `"labels":["b","a"]`},
		{"labels go", patch, "models/mnist", user, `{"labels":[]}`, 200, `"labels":[]`},
		{"no checkpoint", post, "models/mnist/versions", user, `{"checkpointUuid":"22222222-2222-4222-8222-222222222222","modelName":"mnist"}`, 404, `not found`},
		{"register", post, "models/1/versions", tools, `{"checkpointUuid":"` + uuid + `"}`, 200, `"version":1`},
		{"once more", post, "models/mnist/versions", user, `{"checkpointUuid":"` + uuid + `","name":"n"}`, 200, `"version":2`},
		{"the latest", get, "models/mnist/versions?limit=1&orderBy=ORDER_BY_DESC&sortBy=SORT_BY_VERSION", user, "", 200, `"version":2`},
		{"one", get, "models/mnist/versions/1", user, "", 200, `"uuid":"` + uuid + `"`},
		{"none of that number", get, "models/mnist/versions/9", user, "", 404, `version '9' of model 'mnist' not found`},
		{"name a version", patch, "models/mnist/versions/2", user, `{"name":"Test 2026","notes":"# Hello"}`, 200, `"name":"Test 2026"`},
		{"delete a version", del, "models/mnist/versions/1", user, "", 200, `{}`},
		{"one is left", get, "models/mnist", user, "", 200, `"numVersions":1`},
		{"archive", post, "models/mnist/archive", user, "", 200, `{}`},
		{"takes no more", post, "models/mnist/versions", user, `{"checkpointUuid":"` + uuid + `"}`, 400, `archived`},
		{"unarchive", post, "models/mnist/unarchive", user, "", 200, `{}`},
		{"a workspace", post, "workspaces", user, `{"name":"team"}`, 200, `"id":2`},
		{"move", post, "models/mnist/move", user, `{"modelName":"mnist","destinationWorkspaceId":2}`, 200, `{}`},
		{"it keeps its workspace", del, "workspaces/2", user, "", 400, `the workspace has models: 'mnist'`},
		{"not that of another", del, "models/2", other, "", 200, `{}`}, // an administrator
		{"delete", del, "models/mnist", user, "", 200, `{}`},
		{"and the workspace", del, "workspaces/2", user, "", 200, `{"completed":true}`},
	})
}

// saved stores a checkpoint of trial 1.
func (w *world) saved(t *testing.T, uuid string) {
	t.Helper()
	err := w.store.Write(t.Context(), func(tx *store.Tx) error {
		owned := record.Experiment{ID: 1, State: lifecycle.Completed, UserID: 2, Username: "determined"}
		if err := record.Docs().Experiments.Put(tx, record.Key(1), "", start, owned); err != nil {
			return err
		}
		return checkpoint.Put(t.Context(), tx, checkpoint.Record{UUID: uuid, Experiment: 1, Trial: 1, State: checkpoint.Completed, Reported: start})
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	user, tools := w.user, w.tools
	w.play(t, []step{
		{"none", get, "templates", user, "", 200, `"templates":[]`},
		{"make one", post, "templates/base", user, `{"name":"base","config":{"environment":{"image":"i"}},"workspaceId":0}`, 200, `{"template":{"name":"base","config":{"environment":{"image":"i"}},"workspaceId":1}}`},
		{"a name with a slash", post, "templates/a%2Fb", user, `{"config":{}}`, 200, `"name":"a/b"`},
		{"twice", post, "templates/base", user, `{"config":{}}`, 409, `template 'base' already exists`},
		{"the body is the configuration", patch, "templates/base", user, `{"x":1}`, 200, `"config":{"x":1}`},
		{"put", put, "templates/base", user, `{"config":{"y":2}}`, 200, `"config":{"y":2}`},
		{"read in a task", get, "templates/base", tools, "", 200, `"y":2`},
		{"change in a task", patch, "templates/base", tools, `{}`, 403, `log in outside of the task`},
		{"by a part of the name", get, "templates?name=BA", user, "", 200, `"total":1`},
		{"of a workspace", get, "templates?workspaceIds=7", user, "", 200, `"total":0`},
		{"rename", patch, "template/rename", user, `{"oldName":"base","newName":"basis"}`, 200, `"name":"basis"`},
		{"the old name", get, "templates/base", user, "", 404, `template 'base' not found`},
		{"delete", del, "templates/basis", user, "", 200, `{}`},
		{"again", del, "templates/basis", user, "", 404, `template 'basis' not found`},
		{"no configuration", patch, "templates/a%2Fb", user, `[1]`, 400, `invalid request body`},
	})
}

func TestCommandsOfDeletedWorkspace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, id := range []int{1, 9} {
		rec := w.ask(t, get, fmt.Sprintf("/api/v1/commands?workspaceId=%d", id), w.user, "")
		if want := map[int]int{1: 200, 9: 404}[id]; rec.Code != want {
			t.Errorf("workspace %d: got %d, want %d", id, rec.Code, want)
		}
	}
}
