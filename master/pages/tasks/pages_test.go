package tasks_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/det-deploy/det-deploy/master/pages/tasks"
	"github.com/det-deploy/det-deploy/test/pagetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	hostile = `{"id": "t1-2-3", "description": "<script>x</script>\u202e", "state": "STATE_RUNNING", "status": "running", "taskType": "TASK_TYPE_COMMAND", "userId": 2, "username": "alice", "resourcePool": "gpu", "slots": 2, "commandLine": "echo \"<b>\"", "assignedTime": "2026-03-04T05:00:00Z", "labels": {"team": "<i>"}}`
	failed  = `{"id": "t2", "description": "evaluate", "status": "failed", "taskType": "TASK_TYPE_SHELL", "userId": 3, "username": "bob", "exitCode": 3, "reason": "out of memory", "assignedTime": "2026-03-04T05:00:00Z", "endTime": "2026-03-04T05:02:05Z"}`
)

func api() pagetest.API {
	return pagetest.API{
		"GET /api/v1/resource-pools":           `{"resourcePools": [{"name": "gpu"}, {"name": "cpu"}]}`,
		"GET /api/v1/templates":                `{"templates": [{"name": "<b>base"}], "pagination": {"total": 1}}`,
		"GET /api/v1/task-history":             `{"tasks": [` + hostile + `, ` + failed + `], "next": "e5.t2"}`,
		"GET /api/v1/commands/t1":              `{"command": ` + hostile + `, "config": {"environment": {"image": {"cpu": "<img>"}, "proxy_ports": [{"proxy_port": 80}]}}, "queue": {"jobsAhead": 1}}`,
		"GET /api/v1/commands/t2":              `{"command": ` + failed + `, "config": {}, "lastLines": ["Killed"]}`,
		"GET /api/v1/tasks/t1":                 `{"task": {"taskId": "t1", "allocations": [{"state": "STATE_RUNNING"}]}, "resources": [{"agentDevices": {"a<1>": {"devices": [{"id": 4}, {"id": 5}]}}}]}`,
		"GET /api/v1/tasks/t2":                 `{"task": {"taskId": "t2", "endTime": "2026-03-04T05:02:05Z"}}`,
		"GET /api/v1/tasks/trial":              `{"task": {"taskId": "trial"}}`,
		"GET /api/v1/tasks/t1/logs":            `{"result": {"id": "7", "log": "<u>one\n", "timestamp": "2026-03-04T05:00:01Z", "message": "[t] <u>one\n"}}` + "\n",
		"GET /api/v1/tasks/t2/logs":            `403 {"message": "the log of task t2 is visible only to its owner"}`,
		"GET /api/v1/commands/q":               `{"command": {"id": "q", "description": "<q>", "status": "queued", "reason": "no free slots", "resourcePool": "gpu", "taskType": "TASK_TYPE_COMMAND"}, "queue": {"jobsAhead": 2, "holders": [{"name": "<big>", "username": "bob", "slots": 1}]}}`,
		"GET /api/v1/tasks/q":                  `{"task": {"taskId": "q", "allocations": [{}]}}`,
		"GET /api/v1/tasks/q/logs":             `{"result": {"id": "1", "log": "Scheduling <q>\n"}}` + "\n",
		"POST /api/v1/services/{service}/open": `{"address": "/proxy/t1/?token=x"}`,
		"GET /api/v1/tasks/t3":                 `{"task": {"taskId": "t3", "endTime": "2026-03-04T05:02:05Z"}}`,
		"GET /api/v1/tasks/t3/logs":            `{"result": {"id": "7", "log": "<u>one\n", "timestamp": "2026-03-04T05:00:01Z"}}` + "\n",
		"POST /api/v1/commands":                `{"command": {"id": "made"}, "warnings": ["LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED"]}`,
		"POST /api/v1/shells":                  `400 {"message": "resources.slots: must be at most 8"}`,
		"POST /api/v1/commands/{id}/kill":      `{}`,
		"POST /api/v1/tensorboards":            `{"tensorboard": {"id": "board"}}`,
		"POST /api/v1/notebooks":               `{"notebook": {"id": "book"}}`,
		"POST /api/v1/shells/{id}/kill":        `{}`,
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	s := pagetest.New(t, tasks.Pages(), api())
	page := s.Get("/det/tasks?state=open&user=alice", http.StatusOK)
	s.WantTexts(page, `href="/det/tasks/t1-2-3"`, "&lt;script&gt;x&lt;/script&gt;\uFFFD", "echo &#34;&lt;b&gt;&#34;", "out of memory", "2 min 5 s",
		`<option value="open" selected>`, "after=e5.t2", `label=team%3D%3Ci%3E`, "New shell")
	s.WantNone(page, "<script>x", "<i>", "\u202e")
	broken := api()
	broken["GET /api/v1/task-history"] = `404 {"message": "user 'eve' not found"}`
	s = pagetest.New(t, tasks.Pages(), broken)
	s.WantTexts(s.Get("/det/tasks?user=eve", http.StatusOK), "User &#39;eve&#39; not found.", "No task matches the filter.")
}

func TestOneTask(t *testing.T) {
	t.Parallel()
	s := pagetest.New(t, tasks.Pages(), api())
	page := s.Get("/det/tasks/t1", http.StatusOK)
	s.WantTexts(page, "a&lt;1&gt;", "4, 5", "&lt;u&gt;one", "1 job ahead", "&lt;img&gt;", `href="/det/interactive/t1-2-3/"`, `/det/tasks/t1-2-3/kill`)
	s.WantNone(page, "<u>", "<img>", "<script>x")
	page = s.Get("/det/tasks/t2", http.StatusOK)
	s.WantTexts(page, "out of memory", "Exit code", "visible only to the owner")
	s.WantNone(page, "/kill", "/det/interactive/")
	s.WantTexts(s.Get("/det/tasks/none", http.StatusNotFound), "not found")
	if got := s.Get("/det/tasks/trial", http.StatusSeeOther); got != "" {
		t.Errorf("got %q", got)
	}
}

func TestLog(t *testing.T) {
	t.Parallel()
	s := pagetest.New(t, tasks.Pages(), api())
	s.WantTexts(s.Get("/det/tasks/t1/logs?search=ONE", http.StatusOK), "&lt;u&gt;<mark>one</mark>", `data-stream="/det/tasks/t1/logs/stream?after=7&amp;search=ONE"`)
	if got := s.Get("/det/tasks/t1/logs/download", http.StatusOK); got != "[t] <u>one\n" {
		t.Errorf("got the file %q", got)
	}
	s.WantTexts(s.Get("/det/tasks/t3/logs/stream?after=6", http.StatusOK), "id: 7\nevent: lines\n", "&lt;u&gt;one", "event: end")
	s.WantTexts(s.Get("/det/tasks/t2/logs", http.StatusForbidden), "visible only to its owner")
	s.Get("/det/tasks/t2/logs/download", http.StatusForbidden)
}

func TestKill(t *testing.T) {
	t.Parallel()
	s := pagetest.New(t, tasks.Pages(), api())
	s.WantTexts(s.Get("/det/tasks/t1/kill", http.StatusOK), "Kill command “&lt;script&gt;", "Its log stays.")
	for id, want := range map[string]string{"t1": "POST /api/v1/commands/t1/kill ", "t2": "POST /api/v1/shells/t2/kill "} {
		if to := s.Post("/det/tasks/"+id+"/kill", nil, http.StatusSeeOther).Header().Get("Location"); to != "/det/tasks/"+id {
			t.Errorf("got %q", to)
		}
		if got := s.Sent(); len(got) != 1 || got[0] != want {
			t.Errorf("got the calls %q, want %q", got, want)
		}
	}
}

func TestGenericTasksArePaused(t *testing.T) {
	t.Parallel()
	with := api()
	for id, state := range map[string]string{"g1": "running", "g2": "paused"} {
		with["GET /api/v1/commands/"+id] = `{"command": {"id": "` + id + `", "status": "` + state + `", "taskType": "TASK_TYPE_GENERIC", "userId": 2}}`
		with["GET /api/v1/tasks/"+id] = `{}`
		with["GET /api/v1/tasks/"+id+"/logs"] = ``
	}
	with["POST /api/v1/tasks/{id}/{verb}"] = `{}`
	s := pagetest.New(t, tasks.Pages(), with)
	for path, sent := range map[string]string{"g1/pause": "g1/pause", "g2/resume": "g2/unpause", "g1/kill": "g1/kill"} {
		s.WantTexts(s.Get("/det/tasks/"+path[:2], http.StatusOK), "/det/tasks/"+path+`"`)
		s.Post("/det/tasks/"+path, nil, http.StatusSeeOther)
		if got := s.Sent(); len(got) != 1 || !strings.HasPrefix(got[0], "POST /api/v1/tasks/"+sent+" ") {
			t.Errorf("%s: got %q", path, got)
		}
	}
	s.WantNone(s.Get("/det/tasks/t1", http.StatusOK), "/pause")
}

func TestStart(t *testing.T) {
	t.Parallel()
	s := pagetest.New(t, tasks.Pages(), api())
	s.WantTexts(s.Get("/det/tasks/new?template=x", http.StatusOK), `name="program"`, "&lt;b&gt;base", `<option value="gpu">`)
	s.WantNone(s.Get("/det/tasks/new?kind=shell", http.StatusOK), `name="program"`)
	s.Get("/det/tasks/new?kind=rocket", http.StatusNotFound)
	form := url.Values{"kind": {"command"}, "program": {"a\r\nb"}, "slots": {"2"}, "pool": {"gpu"}, "image": {"i"}, "name": {"n"}, "template": {"base"}, "request": {"r"}}
	if to := s.Post("/det/tasks/new", form, http.StatusSeeOther).Header().Get("Location"); to != "/det/tasks/made" {
		t.Errorf("got %q", to)
	}
	got := strings.Join(s.Sent(), "\n")
	for _, want := range []string{`"entrypoint":["a\nb"]`, `"slots":2`, `"resource_pool":"gpu"`, `"image":"i"`, `"description":"n"`, `"templateName":"base"`, `"requestId":"r"`} {
		if !strings.Contains(got, want) {
			t.Errorf("got the call %s, want %s in it", got, want)
		}
	}
	if to := s.Post("/det/tasks/new", url.Values{"kind": {"notebook"}}, http.StatusSeeOther).Header().Get("Location"); to != "/det/interactive/book/" {
		t.Errorf("got %q for a notebook", to)
	}
	s.Sent()
	s.WantTexts(s.Get("/det/tasks/new?kind=TensorBoard&experiments=3", http.StatusOK), `name="experiments" value="3"`)
	board := url.Values{"kind": {"TensorBoard"}, "experiments": {"3, 4"}, "trials": {"5"}}
	if to := s.Post("/det/tasks/new", board, http.StatusSeeOther).Header().Get("Location"); to != "/det/interactive/board/" {
		t.Errorf("got %q for a TensorBoard", to)
	}
	if got := s.Sent(); len(got) != 1 || got[0] != `POST /api/v1/tensorboards {"experimentIds":[3,4],"trialIds":[5],"config":{}}` {
		t.Errorf("got %q", got)
	}
	for _, numbers := range []string{"", "x", "-1", "3;4", strings.Repeat("1,", 101)} {
		s.Post("/det/tasks/new", url.Values{"kind": {"TensorBoard"}, "experiments": {numbers}}, http.StatusUnprocessableEntity)
	}
	for _, form := range []url.Values{{"kind": {"command"}}, {"kind": {"command"}, "program": {"x"}, "slots": {"-1"}}} {
		s.WantTexts(s.Post("/det/tasks/new", form, http.StatusUnprocessableEntity).Body.String(), `role="alert"`)
	}
	s.Post("/det/tasks/new", url.Values{"kind": {"command"}, "program": {"\xff"}}, http.StatusBadRequest)
	s.WantTexts(s.Post("/det/tasks/new", url.Values{"kind": {"shell"}, "name": {`"><x>`}}, http.StatusUnprocessableEntity).Body.String(),
		"Resources.slots: must be at most 8.", "&#34;&gt;&lt;x&gt;")
}

func TestWaitPage(t *testing.T) {
	t.Parallel()
	s := pagetest.New(t, tasks.Pages(), api())
	page := s.Get("/det/interactive/q/jupyter-lab/name/default/", http.StatusOK)
	s.WantTexts(page, "waits for its slots in the resource pool gpu", "no free slots", "2 jobs in the queue ahead", "&lt;big&gt;", "Scheduling &lt;q&gt;", `http-equiv="refresh"`, `hx-trigger="poll"`)
	s.Get("/det/interactive/t2", http.StatusSeeOther) // a shell has no page
	for path, service := range map[string]string{"t1/": "t1", "t1:80/x": "t1:80"} {
		rec := s.Open("/det/interactive/"+path, http.StatusSeeOther)
		if to, sent := rec.Header().Get("Location"), s.Sent(); to != "/proxy/t1/?token=x" || len(sent) != 1 || sent[0] != "POST /api/v1/services/"+service+"/open " {
			t.Errorf("%s: got %q and the calls %q", path, to, sent)
		}
	}
	ended := api()
	ended["GET /api/v1/commands/q"] = `{"command": {"id": "q", "status": "failed", "endTime": "2026-03-04T05:02:05Z", "reason": "killed"}}`
	s = pagetest.New(t, tasks.Pages(), ended)
	page = s.Get("/det/interactive/q/", http.StatusOK)
	s.WantTexts(page, "has ended", "killed")
	s.WantNone(page, `http-equiv="refresh"`, `hx-trigger="poll"`)
}
