package server

import (
	"context"
	"net/http"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/det-deploy/det-deploy/master/server/guard"
)

// access is who may make a call.
type access string

// The kinds of access.
const (
	// open: anybody.
	open access = "none"
	// user: any logged in user, and a user's tools inside a task, which count as
	// no administrator's. What such a token reaches is tasks, their logs, and what
	// it takes to start one.
	user access = "user"
	// login: any logged in user, and nothing inside a task.
	login access = "login"
	// admin: such a user, if an administrator.
	admin access = "admin"
	// allocation: the task's own processes, about the allocation in the path.
	allocation access = "allocation"
	// either: a user or a task.
	either access = "any"
)

// The size limits of bodies. Contexts have up to 96 MB, a third more in base64.
const (
	small = 1 << 20
	// logsLimit holds 1,000 long lines, which is what a shipper sends at once.
	logsLimit = 16 << 20
	large     = 160 << 20
	// loginLimit holds the longest password, 4 KiB, and as much again for the name and
	// for letters that JSON escapes: the caller has not shown who they are.
	loginLimit = 8 << 10
)

// route is one call of the API.
type route struct {
	method string
	// path is below /api/v1/, or from the root where it begins with a slash.
	path   string
	access access
	// limit bounds the body; 0 is small.
	limit int64
	// action is the name under which calls are recorded in the audit log; empty for
	// those that are not.
	action string
	endpoint
}

// endpoint is a handler with what can be said about it.
type endpoint struct {
	// in and out are the messages; in is nil when there is no body.
	in, out protoreflect.MessageDescriptor
	// list says that the body is a list of in.
	list bool
	// streams says that out is a line, and that there may be many.
	streams bool
	// file is the media type of an answer that is no message.
	file  string
	serve func(c *call) error
}

const prefix = "/api/v1/"

// fullPath is the path as it is called.
func (r route) fullPath() string {
	if strings.HasPrefix(r.path, "/") {
		return r.path
	}
	return prefix + r.path
}

// portHandler is everything on the port.
func (s *Server) portHandler() http.Handler {
	mux := http.NewServeMux()
	var handler http.Handler = mux
	for _, r := range s.routes() {
		if strings.HasPrefix(r.path, externalPath) {
			handler = externalFirst(r, s.gatekeeper.guarded(r), mux)
			continue
		}
		mux.Handle(r.method+" "+r.fullPath(), s.gatekeeper.guarded(r))
	}
	mux.HandleFunc(prefix, s.notBuilt)
	health := &healthCalls{s.shared}
	mux.HandleFunc("GET /info", (&clusterCalls{s.shared}).info)
	for _, path := range readyPaths() {
		mux.HandleFunc(path, health.answerHealth)
	}
	mux.HandleFunc(livePath, health.live)
	if !s.cfg.HideMetrics {
		for _, path := range []string{"GET /metrics", "GET /debug/prom/metrics"} {
			mux.Handle(path, s.meter.Page(s.cfg.Metrics))
		}
	}
	if s.cfg.Binaries != nil {
		mux.Handle("GET /binaries/{platform}", s.cfg.Binaries)
	}
	if s.cfg.Harness != nil {
		mux.Handle("GET /harness/{sha256}/{name}", s.gatekeeper.guarded(route{access: either, endpoint: endpoint{serve: s.serveHarness}}))
	}
	if s.cfg.Agents != nil {
		mux.Handle("/agents", s.cfg.Agents)
	}
	mux.HandleFunc("/", elsewhere)
	if s.cfg.Certificate != nil {
		return s.meter.Count(strictTransport(s.sites(handler)))
	}
	return s.meter.Count(s.sites(handler))
}

// serveHarness hands out a wheel.
func (s *Server) serveHarness(c *call) error {
	s.cfg.Harness.ServeHTTP(c.w, c.Request)
	return nil
}

// sites is the API, with the true addresses of clients, for pages of other sites where the configuration says so.
func (s *Server) sites(api http.Handler) http.Handler {
	api = trimSlashes(api)
	if len(s.cfg.CORSOrigins) > 0 {
		api = guard.AllowOrigins(s.cfg.CORSOrigins, api)
	}
	return guard.TrueAddress(s.cfg.TrustedProxies, api)
}

// strictTransport tells browsers to come back by TLS only, for a year.
func strictTransport(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Strict-Transport-Security", "max-age=31536000")
		next.ServeHTTP(w, r)
	})
}

// trimSlashes takes trailing slashes off API paths: some clients write them. A name from elsewhere may end with one.
func trimSlashes(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, prefix) && strings.HasSuffix(r.URL.Path, "/") && r.URL.Path != prefix &&
			!strings.HasPrefix(r.URL.Path, prefix+externalPath) {
			u := *r.URL
			u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), strings.TrimRight(u.RawPath, "/")
			clone := *r
			clone.URL = &u
			next.ServeHTTP(w, &clone)
			r.Pattern = clone.Pattern
			return
		}
		next.ServeHTTP(w, r)
	})
}

// guarded lets through who may call, and bounds what they may send.
func (g *gatekeeper) guarded(r route) http.Handler {
	limit := r.limit
	if limit == 0 {
		limit = small
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		c := &call{Request: req, w: w}
		c.intake = intake{call: c, limit: limit, room: g.room}
		c.deed.action = r.action
		c.answered = func(ctx context.Context) { g.recordCall(ctx, c, nil) }
		defer c.intake.releaseAll()
		err := g.identifyCaller(c, r.access)
		if err == nil && r.access != open {
			guard.MarkKnown(req.Context())
		}
		if err == nil {
			err = g.serveCall(r, c)
		}
		if err != nil {
			c.intake.releaseAll()
			g.recordCall(req.Context(), c, err)
			g.refuseCall(c, err, r.streams)
		}
	})
}
