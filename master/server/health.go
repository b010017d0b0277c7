package server

import (
	"encoding/json"
	"net/http"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
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

// onHold is the answer to everything that a master on hold does not do.
const onHold = "this master is on hold for an upgrade: it accepts nothing until the upgrade is committed; try again in a minute"

// Rehearsal is what a master on hold found out about its store: whether this
// program can bring a copy of it up to date and take up everything that is in it.
type Rehearsal struct {
	// Done is false while it is under way.
	Done bool `json:"done"`
	// Error says why the program cannot run on this store; it is empty when it can.
	Error string `json:"error"`
	// SchemaFrom is the version of the store's tables, 0 where there is no store
	// yet; SchemaTo is what they become.
	SchemaFrom int64 `json:"schema_from"`
	SchemaTo   int64 `json:"schema_to"`
	// Tasks is how many tasks were taken up from the copy.
	Tasks int `json:"tasks"`
	// Took is how long it took, in milliseconds.
	Took int64 `json:"took_ms"`
}

// answerHealth is how a master on hold is: well when it could serve.
func (r Rehearsal) answerHealth() (code int, answer map[string]string) {
	switch {
	case !r.Done:
		return http.StatusServiceUnavailable, map[string]string{"status": "starting", "reason": "the store is being tried on a copy"}
	case r.Error != "":
		return http.StatusServiceUnavailable, map[string]string{"status": "down", "reason": r.Error}
	default:
		return http.StatusOK, map[string]string{"status": "on hold"}
	}
}

// holdFront is everything on the port of a master on hold: who it is, and that it
// does nothing else yet.
func (s *Server) holdFront() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /info", (&clusterCalls{s.shared}).info)
	mux.HandleFunc(livePath, (&healthCalls{s.shared}).live)
	for _, path := range readyPaths() {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			code, answer := s.cfg.Rehearsal().answerHealth()
			b, _ := json.Marshal(answer) // strings always can be
			writeJSON(w, code, b)
		})
	}
	mux.HandleFunc("GET "+prefix+"master", func(w http.ResponseWriter, r *http.Request) {
		c := &call{Request: r, w: w}
		id := s.cfg.Identity
		err := c.writeAnswer(&apiv1.GetMasterResponse{ //nolint:contextcheck // the call has its request, and so its context
			Version: Version, MasterId: id.MasterID, ClusterName: id.ClusterName,
			Branding: "det-deploy " + id.Version + " (on hold)",
		})
		if err != nil {
			s.gatekeeper.refuseCall(c, err, false)
		}
	})
	mux.HandleFunc(prefix, func(w http.ResponseWriter, r *http.Request) {
		s.gatekeeper.refuseCall(&call{Request: r, w: w}, status.New(status.Unavailable, onHold), false)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		plainError(w, http.StatusServiceUnavailable, onHold)
	})
	return trimSlashes(mux)
}
