package server

import (
	"encoding/json"
	"net/http"

	"github.com/det-deploy/det-deploy/master/server/guard"
)

// healthAnswer is what /health and its two parts say.
type healthAnswer struct {
	// Status is "up", "unavailable" while a check does not hold, or "down" when
	// waiting is of no use.
	Status   string            `json:"status"`
	Reason   string            `json:"reason,omitempty"`
	NotReady map[string]string `json:"not_ready,omitempty"`
}

// healthCalls is whether this master works.
type healthCalls struct{ *shared }

// answerHealth answers whether this master can do what it is asked: /health, /healthz
// and /health/ready.
func (h *healthCalls) answerHealth(w http.ResponseWriter, r *http.Request) {
	answer := h.checkHealth(r)
	if answer.Status == "up" {
		if reasons := h.cfg.Readiness.NotReady(); len(reasons) > 0 {
			answer = healthAnswer{Status: "unavailable", Reason: guard.JoinReasons(reasons), NotReady: reasons}
		}
	}
	writeHealth(w, answer)
}

// live answers whether this process is to go on: it is not ended because its
// database is away.
func (h *healthCalls) live(w http.ResponseWriter, r *http.Request) { writeHealth(w, h.checkHealth(r)) }

func (h *healthCalls) checkHealth(r *http.Request) healthAnswer {
	if h.cfg.Health != nil {
		if err := h.cfg.Health(r.Context()); err != nil {
			return healthAnswer{Status: "down", Reason: err.Error()}
		}
	}
	return healthAnswer{Status: "up"}
}

func writeHealth(w http.ResponseWriter, answer healthAnswer) {
	code := http.StatusOK
	if answer.Status != "up" {
		code = http.StatusServiceUnavailable
	}
	b, _ := json.Marshal(answer) // strings always can be
	writeJSON(w, code, b)
}

// readyPaths are the places of readiness. /health is upstream's.
func readyPaths() []string { return []string{"GET /health", "GET /healthz", "GET /health/ready"} }

// livePath is the place of liveness.
const livePath = "GET /health/live"
