// Package ui is the frame of the master's web pages: login and sessions, layout, style sheet and
// scripts, and the functions of templates. A page calls the master's API on behalf of its visitor.
//
//	browser ─▶ Site: headers, session, CSRF ─▶ Page.Serve ─▶ API, in this process ─▶ Visit.Show: template
package ui

import (
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Root is the path below which all pages are.
const Root = "/det/"

// Page is one address of the site.
type Page struct {
	// Pattern is a pattern of http.ServeMux below Root, such as "GET /det/experiments/{id}". Calls
	// of other methods than GET are accepted only with the CSRF token of a form.
	Pattern string
	// Nav is the text of the link in the navigation; the page has none if it is empty.
	Nav string
	// Admin restricts the page to administrators.
	Admin bool
	// Serve calls the API and shows, redirects or sends the result. It returns an error before it
	// has written anything; errors of the API become error pages.
	Serve func(*Visit) error

	// open admits visitors without a session.
	open bool
}

// Config has the dependencies of a Site.
type Config struct {
	// API is the master's API.
	API http.Handler
	// CSRFToken returns the token of a session that its forms carry.
	CSRFToken func(session string) string
	// SessionCookie returns the name of the cookie of a session at a host name with its port.
	SessionCookie func(hostport string) string
	// Cluster is the name in the header of the pages.
	Cluster string
	// Secure restricts the cookies to TLS.
	Secure bool
	// Reuse is how long a live block is sent again to the same session without asking the API; zero is never.
	Reuse time.Duration
	Log   *slog.Logger
	// Now is the clock.
	Now func() time.Time
}

// Site serves pages.
type Site struct {
	cfg       Config
	pages     []Page
	mux       *http.ServeMux
	fragments fragments
}

// New returns a site with the pages, whose links are in the navigation in this order.
func New(cfg Config, pages []Page) *Site {
	s := &Site{cfg: cfg, pages: pages, mux: http.NewServeMux()}
	for _, p := range append(s.sessionPages(), pages...) {
		s.mux.HandleFunc(p.Pattern, func(w http.ResponseWriter, r *http.Request) { s.serve(p, w, r) }) //nolint:contextcheck // a Visit has the context of its request
	}
	s.mux.HandleFunc("GET "+staticPath+"{hash}/{name}", serveStatic)
	return s
}

// formLimit is the size of a form: a configuration that is edited, in the encoding of forms.
const formLimit = 4 << 20

const (
	// readTime is the time for a form to arrive, and writeTime for a page to be sent.
	readTime  = 30 * time.Second
	writeTime = time.Minute
)

// ServeHTTP serves a page, or the page of an error if no pattern matches.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setHeaders(w.Header())
	limits := http.NewResponseController(w)
	_ = limits.SetReadDeadline(s.cfg.Now().Add(readTime)) // not supported by recorders in tests
	_ = limits.SetWriteDeadline(s.cfg.Now().Add(writeTime))
	h, pattern := s.mux.Handler(r)
	if !isAddress(r.URL) {
		h, pattern = http.NotFoundHandler(), ""
	}
	if pattern == "" {
		s.serveUnmatched(h, w, r) //nolint:contextcheck // a Visit has the context of its request
		return
	}
	s.mux.ServeHTTP(w, r)
}

// isAddress reports whether an address can be one of a page: it is text, and has no names such as .. that would lead
// a call of the API to another object.
func isAddress(u *url.URL) bool {
	text := u.Path
	for name, values := range u.Query() {
		text += name + strings.Join(values, "")
	}
	if !utf8.ValidString(text) {
		return false
	}
	return !slices.ContainsFunc(strings.Split(u.Path, "/"), func(name string) bool { return name == "." || name == ".." })
}

// serveUnmatched shows the error of the mux as a page.
func (s *Site) serveUnmatched(h http.Handler, w http.ResponseWriter, r *http.Request) {
	answer := &statusOnly{header: http.Header{}}
	h.ServeHTTP(answer, r)
	if allow := answer.header.Get("Allow"); allow != "" {
		w.Header().Set("Allow", allow)
	}
	r.Pattern = Root
	v := s.visit(w, r)
	v.findUser()
	switch {
	case answer.status == http.StatusMethodNotAllowed:
		v.showError(http.StatusMethodNotAllowed, "This address does not accept "+Plain(r.Method)+" requests.")
	case v.User == nil && r.Method == http.MethodGet:
		v.toLogin()
	default:
		v.showError(http.StatusNotFound, "There is no page at "+Plain(r.URL.Path)+".")
	}
}

// statusOnly is a response of which only the status and the header are used.
type statusOnly struct {
	header http.Header
	status int
}

func (s *statusOnly) Header() http.Header { return s.header }

func (s *statusOnly) Write(b []byte) (int, error) { return len(b), nil }

func (s *statusOnly) WriteHeader(status int) { s.status = status }

// serve admits the visitor of a page and serves it.
func (s *Site) serve(p Page, w http.ResponseWriter, r *http.Request) {
	v := s.visit(w, r)
	if v.reuse() {
		return
	}
	defer v.release()
	if err := v.admit(p); err != nil {
		v.fail(err)
		return
	}
	if v.done {
		return
	}
	if err := p.Serve(v); err != nil {
		v.fail(err)
	}
}

// setHeaders sets the headers of every page. Nothing is loaded from other sites, no other site shows a
// page in a frame, and no cache keeps it.
func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "+
		"connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// path returns the path of a pattern.
func (p Page) path() string {
	_, path, _ := strings.Cut(p.Pattern, " ")
	return strings.TrimSuffix(path, "{$}")
}
