package pools_test

import (
	"net/http"
	"testing"

	"go.uber.org/goleak"

	"github.com/det-deploy/det-deploy/master/pages/pools"
	"github.com/det-deploy/det-deploy/test/pagetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const agents = `{"agents": [
	{"id": "a<1>", "enabled": true, "resourcePools": ["gpu"], "slots": {
		"000": {"id": "0", "enabled": true, "device": {"brand": "<b>H100"}, "container": {"id": "c1", "parent": "t1.1"}},
		"001": {"id": "1", "enabled": true}, "002": {"id": "2", "enabled": false}},
	 "containers": {"c1": {"id": "c1", "parent": "t1.1"}, "c2": {"id": "c2", "parent": "t2.3"}}},
	{"id": "b", "lost": true, "draining": true, "resourcePools": ["gpu"], "slots": {"000": {"id": "0"}}},
	{"id": "d", "draining": true, "resourcePools": ["gpu"]}
]}`

func api(admin string) pagetest.API {
	return pagetest.API{
		"GET /api/v1/me":     `{"user": {"id": 2, "username": "alice", "admin": ` + admin + `}}`,
		"GET /api/v1/agents": agents,
		"GET /api/v1/resource-pools": `{"resourcePools": [{"name": "gpu", "numAgents": 3, "slotsAvailable": 4, "slotsUsed": 1, "maxAgents": 5,
			"slotPrice": {"perHour": 2.5, "currency": "EUR"}, "stats": {"queuedCount": 6},
			"machines": {"demand": 2, "joined": 3, "refusals": [{"price": "spot", "instanceType": "p4d", "zone": "z1", "reason": "no <capacity>"}]}}, {"name": "cpu"}]}`,
		"GET /api/v1/resource-pools/gpu/machines": `{"machines": [{"id": "a<1>", "state": "joined", "instanceType": "p4d", "price": "spot"}, {"id": "i-2", "state": "gone", "reason": "idle for 5m"}]}`,
		"POST /api/v1/agents/{agent}/disable":     `{}`, "POST /api/v1/agents/{agent}/enable": `{}`,
		"POST /api/v1/agents/{agent}/slots/{slot}/disable": `{}`, "POST /api/v1/agents/{agent}/slots/{slot}/enable": `{}`,
	}
}

func TestPools(t *testing.T) {
	t.Parallel()
	s := pagetest.New(t, pools.Pages(), api("false"))
	page := s.Get("/det/pools", http.StatusOK)
	s.WantTexts(page, "1 of 4 slots in use", "6 waiting", "2.5 EUR per hour", "No spot p4d in z1: no &lt;capacity&gt;", "2 needed, 3 joined", "a&lt;1&gt;",
		"1 of 3 slots in use", "Slot 0: busy, task t1", "Slot 2: disabled", "Slot 0: lost", "1 task without slots", "No machine is connected.")
	s.WantNone(page, "a<1>", "<capacity>")
	page = s.Get("/det/pools/gpu", http.StatusOK)
	s.WantTexts(page, "idle for 5m", `href="/det/machines/a%3C1%3E"`, "spot")
	s.WantNone(page, `href="/det/machines/i-2"`)
	s.Get("/det/pools/none", http.StatusNotFound)
	s.WantTexts(s.Get("/det/pools/cpu", http.StatusOK), "not set")
}

func TestMachines(t *testing.T) {
	t.Parallel()
	s := pagetest.New(t, pools.Pages(), api("false"))
	page := s.Get("/det/machines/a%3C1%3E", http.StatusOK)
	s.WantTexts(page, "&lt;b&gt;H100", `href="/det/tasks/t1"`, `href="/det/tasks/t2"`)
	s.WantNone(page, "Drain", "<b>H100")
	s.Get("/det/machines/none", http.StatusNotFound)
	s.Post("/det/machines/b/drain", nil, http.StatusForbidden)

	s = pagetest.New(t, pools.Pages(), api("true"))
	s.WantTexts(s.Get("/det/machines/a%3C1%3E", http.StatusOK), "Drain", `href="/det/machines/a%3C1%3E/disable"`, `action="/det/machines/a%3C1%3E/slots/2/enable"`)
	s.WantTexts(s.Get("/det/machines/d", http.StatusOK), `action="/det/machines/d/enable"`)
	s.WantTexts(s.Get("/det/machines/a%3C1%3E/disable", http.StatusOK), "Disable machine a&lt;1&gt;?", "2 tasks on it will be killed.")
	s.WantTexts(s.Get("/det/machines/a%3C1%3E/slots/1/disable", http.StatusOK), "No task runs on it.")
	for path, want := range map[string]string{
		"a%3C1%3E/drain":           `POST /api/v1/agents/a%3C1%3E/disable {"agentId":"a<1>","drain":true}`,
		"a%3C1%3E/disable":         `POST /api/v1/agents/a%3C1%3E/disable {"agentId":"a<1>"}`,
		"d/enable":                 "POST /api/v1/agents/d/enable ",
		"a%3C1%3E/slots/1/disable": `POST /api/v1/agents/a%3C1%3E/slots/1/disable {"agentId":"a<1>","slotId":"1"}`,
		"a%3C1%3E/slots/2/enable":  "POST /api/v1/agents/a%3C1%3E/slots/2/enable ",
	} {
		s.Post("/det/machines/"+path, nil, http.StatusSeeOther)
		if got := s.Sent(); len(got) != 1 || got[0] != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}
