package server

import (
	"context"
	"net/http"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/server/guard"
)

// access determines who may make a call.
type access string

// The values of access.
const (
	// open permits everyone.
	open access = "none"
	// user permits any logged-in user, and a user's tokens inside tasks, which never have administrator
	// rights. Such tokens give access to tasks, their logs, and the calls needed to start one.
	user access = "user"
	// login permits any logged-in user, but no tokens inside tasks.
	login access = "login"
	// person permits any logged-in user with a token in a header: neither tokens inside tasks nor the
	// cookies of browsers, which they also send for pages of others.
	person access = "person"
	// admin permits logged-in administrators.
	admin access = "admin"
	// allocation permits a task's own processes, for the allocation in the path.
	allocation access = "allocation"
	// either permits users and tasks.
	either access = "any"
)

// The size limits of bodies. Contexts have up to 96 MB, and a third more in base64.
const (
	small = 1 << 20
	// logsLimit is sufficient for 1,000 long lines, the number that a shipper sends at once.
	logsLimit = 16 << 20
	large     = 160 << 20
	// loginLimit is sufficient for the longest password, 4 KiB, and the same size for the name and JSON
	// escapes. It is small because the caller is not authenticated.
	loginLimit = 8 << 10
)

// route is a call of the API.
type route struct {
	method string
	// path is relative to /api/v1/, or absolute if it begins with a slash.
	path   string
	access access
	// limit is the maximum size of the body; the default is small.
	limit int64
	// action is the name of the call in the audit log, or empty if it is not recorded.
	action string
	endpoint
}

// endpoint is a handler with its description.
type endpoint struct {
	// in and out are the message types; in is nil if there is no body.
	in, out protoreflect.MessageDescriptor
	// list reports whether the body is a list of in.
	list bool
	// streams reports whether the response is a stream of out messages.
	streams bool
	// file is the media type of a response that is not a message.
	file string
	// socket reports whether the response is a websocket.
	socket bool
	serve  func(c *call) error
}

const prefix = "/api/v1/"

// fullPath returns the absolute path.
func (r route) fullPath() string {
	if strings.HasPrefix(r.path, "/") {
		return r.path
	}
	return prefix + r.path
}

// isVisited reports whether browsers visit the address: it is a file outside of the API.
func (r route) isVisited() bool {
	return r.method == http.MethodGet && r.file != "" && strings.HasPrefix(r.path, "/")
}

// portHandler returns the handler of the port.
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
	for _, pattern := range append(shadowed(), prefix) {
		mux.HandleFunc(pattern, s.notBuilt)
	}
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
		mux.Handle("GET /agents"+agentv1.StreamsPath+"{stream}", s.cfg.Agents)
	}
	if s.cfg.Pages != nil {
		mux.Handle(pagesPath, s.pages(handler))
		mux.Handle("GET /{$}", http.RedirectHandler(pagesPath, http.StatusFound))
	}
	mux.HandleFunc("/", elsewhere)
	if s.cfg.Certificate != nil {
		return s.meter.Count(strictTransport(s.sites(handler)))
	}
	return s.meter.Count(s.sites(handler))
}

// serveHarness serves a wheel.
func (s *Server) serveHarness(c *call) error {
	s.cfg.Harness.ServeHTTP(c.w, c.Request)
	return nil
}

// sites wraps the API with the handling of proxies and of permitted origins.
func (s *Server) sites(api http.Handler) http.Handler {
	api = trimSlashes(api)
	if len(s.cfg.CORSOrigins) > 0 {
		api = guard.AllowOrigins(s.cfg.CORSOrigins, api)
	}
	if s.cfg.Services != nil {
		api = s.servicesFirst(api)
	}
	return guard.TrueAddress(s.cfg.TrustedProxies, api)
}

// strictTransport tells browsers to use only TLS for a year.
func strictTransport(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Strict-Transport-Security", "max-age=31536000")
		next.ServeHTTP(w, r)
	})
}

// trimSlashes removes trailing slashes from API paths, because some clients add them. External IDs are
// left unchanged.
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

// guarded returns the handler of a route that checks access and limits the body.
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
		err := g.identifyCaller(c, r)
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
