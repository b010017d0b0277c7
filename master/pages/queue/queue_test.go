package queue_test

import (
	"net/http"
	"net/url"
	"testing"

	"go.uber.org/goleak"

	"github.com/det-deploy/det-deploy/master/pages/queue"
	"github.com/det-deploy/det-deploy/test/pagetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const jobs = `{"jobs": [
	{"full": {"jobId": "r", "entityId": "7", "type": "TYPE_EXPERIMENT", "name": "<b>digits", "username": "bob", "userId": 3, "resourcePool": "gpu", "allocatedSlots": 2, "requestedSlots": 4, "summary": {"state": "STATE_SCHEDULED"}}},
	{"full": {"jobId": "a", "entityId": "a/1", "type": "TYPE_COMMAND", "name": "first", "userId": 2, "resourcePool": "gpu", "priority": 42, "requestedSlots": 1, "summary": {"state": "STATE_QUEUED"}}},
	{"full": {"jobId": "c", "type": "TYPE_CHECKPOINT_GC", "name": "deletion", "userId": 2, "resourcePool": "cpu", "summary": {"state": "STATE_QUEUED"}}},
	{"full": {"jobId": "b", "entityId": "b", "type": "TYPE_SHELL", "name": "second", "userId": 2, "resourcePool": "gpu", "summary": {"state": "STATE_QUEUED"}}}
], "pagination": {"total": 205}}`

func TestQueue(t *testing.T) {
	t.Parallel()
	s := pagetest.New(t, queue.Pages(), pagetest.API{
		"GET /api/v1/resource-pools": `{"resourcePools": [{"name": "gpu"}]}`,
		"GET /api/v1/job-queues-v2":  jobs,
		"POST /api/v1/job-queues":    `{}`,
	})
	page := s.Get("/det/queue?pool=gpu&offset=100", http.StatusOK)
	s.WantTexts(page, "&lt;b&gt;digits", `href="/det/experiments/7"`, `href="/det/tasks/a%2F1"`, "checkpoint deletion", "2 of 4", `value="42"`,
		`name="behind_of" value="b" aria-label="Move first back"`, `name="ahead_of" value="a" aria-label="Move second forward"`, "101–200 of 205", `rel="next"`)
	s.WantNone(page, "<b>", "Move deletion", `action="/det/queue/r/priority"`)
	for _, tt := range []struct {
		path string
		form url.Values
		want string
	}{
		{"a/move", url.Values{"behind_of": {"b"}}, `POST /api/v1/job-queues {"updates":[{"jobId":"a","behindOf":"b"}]}`},
		{"b/move", url.Values{"ahead_of": {"a"}, "pool": {"gpu"}}, `POST /api/v1/job-queues {"updates":[{"jobId":"b","aheadOf":"a"}]}`},
		{"b/priority", url.Values{"priority": {"9"}}, `POST /api/v1/job-queues {"updates":[{"jobId":"b","priority":9}]}`},
	} {
		to := s.Post("/det/queue/"+tt.path, tt.form, http.StatusSeeOther).Header().Get("Location")
		if want := map[bool]string{true: "/det/queue?pool=gpu", false: "/det/queue"}[tt.form.Get("pool") != ""]; to != want {
			t.Errorf("%s: got the page %q", tt.path, to)
		}
		if got := s.Sent(); len(got) != 1 || got[0] != tt.want {
			t.Errorf("%s: got %q, want %q", tt.path, got, tt.want)
		}
	}
	s.Post("/det/queue/b/priority", url.Values{"priority": {"high"}}, http.StatusBadRequest)
}
