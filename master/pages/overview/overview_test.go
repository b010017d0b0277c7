package overview_test

import (
	"net/http"
	"testing"

	"github.com/det-deploy/det-deploy/master/pages/overview"
	"github.com/det-deploy/det-deploy/test/pagetest"
)

// odd is a name with markup, a control character and an override of the direction, in JSON.
const odd = `\"><script>alert(1)</script>\u0007\u202e`

// api has the odd name wherever users choose one.
func api() pagetest.API {
	return pagetest.API{
		"GET /api/v1/resource-pools":                  `{"resourcePools": [{"name": "` + odd + `", "slotsAvailable": 2, "slotsUsed": 1, "machines": {"problems": ["` + odd + `"]}}]}`,
		"GET /api/v1/agents":                          `{"agents": [{"id": "` + odd + `", "lost": true}]}`,
		"GET /api/v1/job-queues-v2":                   `{"jobs": [{"full": {"name": "` + odd + `", "username": "` + odd + `", "entityId": "t1", "type": "TYPE_COMMAND", "requestedSlots": 4}}], "pagination": {"total": 1}}`,
		"GET /api/v1/tasks/t1":                        `{"reason": "no machine has 4 slots"}`,
		"GET /api/v1/experiments":                     `{"experiments": [{"id": 5, "name": "` + odd + `", "username": "` + odd + `", "status": "running", "searcherMetric": "` + odd + `"}], "pagination": {"total": 1}}`,
		"GET /api/v1/resources/allocation/aggregated": `{"resourceEntries": [{"periodStart": "2026-03-03", "byResourcePool": {"` + odd + `": 86400}}]}`,
		"GET /api/v1/resources/usage":                 `{"usage": [{"slotHours": 1.5}]}`,
		"GET /api/v1/resource-pools/{pool}/machines":  `{"machines": [{"id": "` + odd + `", "resourcePool": "` + odd + `", "launchTime": "2026-03-04T01:00:00Z", "instanceType": "` + odd + `"}]}`,
	}
}

func TestOverviewEscapesNames(t *testing.T) {
	s := pagetest.New(t, overview.Pages(), api())
	page := s.Get("/det/", http.StatusOK)
	s.WantNone(page, "<script>alert", "\u202e", "\u0007")
	s.WantTexts(page, "&lt;script&gt;alert(1)", "\uFFFD", "no machine has 4 slots", "1.5", "is not connected", "launched", `href="/det/tasks/t1"`, `href="/det/experiments/5"`)
}

func TestSlotsAreSentAsCSV(t *testing.T) {
	s := pagetest.New(t, overview.Pages(), api())
	s.WantTexts(s.Get("/det/overview/slots.csv", http.StatusOK), "day,", "2026-03-03,1.00\n")
}

func TestOverviewNeedsItsAPI(t *testing.T) {
	broken := api()
	broken["GET /api/v1/agents"] = `503 {"message": "the master is starting"}`
	s := pagetest.New(t, overview.Pages(), broken)
	s.WantTexts(s.Get("/det/", http.StatusServiceUnavailable), "The master is starting.")
}
