package server

import (
	"encoding/json"
	"net/http"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/server/guard"
)

// healthAnswer is the response of /health and its subpaths.
type healthAnswer struct {
	// Status is "up", "unavailable" while a check fails, or "down" if the failure is permanent.
	Status   string            `json:"status"`
	Reason   string            `json:"reason,omitempty"`
	NotReady map[string]string `json:"not_ready,omitempty"`
}

// healthCalls serves the health of this master.
type healthCalls struct{ *shared }

// answerHealth serves readiness: /health, /healthz and /health/ready.
func (h *healthCalls) answerHealth(w http.ResponseWriter, r *http.Request) {
	answer := h.checkHealth(r)
	if answer.Status == "up" {
		if reasons := h.cfg.Readiness.NotReady(); len(reasons) > 0 {
			answer = healthAnswer{Status: "unavailable", Reason: guard.JoinReasons(reasons), NotReady: reasons}
		}
	}
	writeHealth(w, answer)
}

// live serves liveness. The process stays alive while its database is unavailable.
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
	b, _ := json.Marshal(answer) // strings can always be encoded
	writeJSON(w, code, b)
}

// readyPaths lists the paths of readiness. /health is that of upstream.
func readyPaths() []string { return []string{"GET /health", "GET /healthz", "GET /health/ready"} }

// livePath is the path of liveness.
const livePath = "GET /health/live"

// onHold is the response of a master on hold to all other requests.
const onHold = "this master is on hold for an upgrade and rejects requests until the upgrade is committed; try again in a minute"

// Rehearsal is the result of a master on hold: whether this program can migrate a copy of the store and
// resume its contents.
type Rehearsal struct {
	// Done is false while the rehearsal is running.
	Done bool `json:"done"`
	// Error is the reason why the program cannot use the store, or empty.
	Error string `json:"error"`
	// SchemaFrom is the schema version of the store, or 0 if there is none, and SchemaTo the version after
	// the migration.
	SchemaFrom int64 `json:"schema_from"`
	SchemaTo   int64 `json:"schema_to"`
	// Tasks is the number of tasks resumed from the copy.
	Tasks int `json:"tasks"`
	// Took is the duration in milliseconds.
	Took int64 `json:"took_ms"`
}

// answerHealth returns the health of a master on hold. It is healthy if the rehearsal succeeded.
func (r Rehearsal) answerHealth() (code int, answer map[string]string) {
	switch {
	case !r.Done:
		return http.StatusServiceUnavailable, map[string]string{"status": "starting", "reason": "testing the store on a copy"}
	case r.Error != "":
		return http.StatusServiceUnavailable, map[string]string{"status": "down", "reason": r.Error}
	default:
		return http.StatusOK, map[string]string{"status": "on hold"}
	}
}

// holdFront returns the handler of a master on hold. It serves the identity and health of the master and
// rejects all other requests.
func (s *Server) holdFront() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /info", (&clusterCalls{s.shared}).info)
	mux.HandleFunc(livePath, (&healthCalls{s.shared}).live)
	for _, path := range readyPaths() {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			code, answer := s.cfg.Rehearsal().answerHealth()
			b, _ := json.Marshal(answer) // strings can always be encoded
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
