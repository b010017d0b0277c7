package proxy

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// taskHeader carries the token of an allocation.
const taskHeader = "Grpc-Metadata-X-Allocation-Token"

// withoutCredentials returns a request without the credentials of the cluster. Those of the service itself
// stay.
func withoutCredentials(r *http.Request) *http.Request {
	r = r.Clone(r.Context())
	r.Header.Del(taskHeader)
	// Many services cannot tell X_Real_Ip from X-Real-Ip, which the proxy sets.
	maps.DeleteFunc(r.Header, func(name string, _ []string) bool { return strings.Contains(name, "_") })
	if _, ours := clusterToken(r); ours {
		r.Header.Del("Authorization")
	}
	kept := r.Cookies()
	r.Header.Del("Cookie")
	for _, c := range kept {
		if !isReserved(c.Name) && !isOurs(c.Value) {
			r.AddCookie(c)
		}
	}
	if strings.Contains(r.URL.RawQuery, ticketParameter+"=ddticket") {
		r.URL.RawQuery = withoutParameter(r.URL)
	}
	if from := r.Header.Get("Referer"); strings.Contains(from, ticketParameter+"=ddticket") {
		r.Header.Del("Referer")
	}
	return r
}

// isReserved reports whether a cookie's name is one of the cluster's own.
func isReserved(name string) bool { return name == sessionCookie || strings.HasPrefix(name, "det_") }

// withoutTicket returns the address of a request without its ticket.
func withoutTicket(r *http.Request) string {
	u := url.URL{Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: withoutParameter(r.URL)}
	return u.String()
}

// withoutParameter returns a query without the ticket, and otherwise unchanged.
func withoutParameter(u *url.URL) string {
	parts := slices.DeleteFunc(strings.Split(u.RawQuery, "&"), func(part string) bool {
		return part == "" || strings.HasPrefix(part, ticketParameter+"=")
	})
	return strings.Join(parts, "&")
}

// siteHeaders are the headers of a response that would change the behavior of a browser for other paths.
var siteHeaders = []string{
	"Accept-Ch", "Alt-Svc", "Clear-Site-Data", "Cross-Origin-Opener-Policy", "Nel", "Origin-Agent-Cluster", "Public-Key-Pins", "Report-To", "Reporting-Endpoints",
	"Sec-Session-Registration", "Secure-Session-Registration", "Service-Worker-Allowed", "Set-Login", "Strict-Transport-Security", "Use-As-Dictionary",
}

// cleanResponse keeps a service from affecting other paths of its host.
func cleanResponse(h http.Header, path string) {
	for _, name := range siteHeaders {
		h.Del(name)
	}
	lines := h["Set-Cookie"]
	h.Del("Set-Cookie")
	for _, line := range lines {
		if c, err := http.ParseSetCookie(line); err == nil && cleanCookie(c, path) {
			h.Add("Set-Cookie", c.String())
		}
	}
}

// finalOnly is a response without the informational ones before it, such as early hints: their headers are
// not cleaned, and pages work without them.
type finalOnly struct{ http.ResponseWriter }

// WriteHeader sends the status of the response.
func (f finalOnly) WriteHeader(code int) {
	if code >= http.StatusOK || code == http.StatusSwitchingProtocols {
		f.ResponseWriter.WriteHeader(code)
	}
}

// Unwrap is used by http.ResponseController.
func (f finalOnly) Unwrap() http.ResponseWriter { return f.ResponseWriter }

// cleanCookie restricts a cookie to the paths of its service. It reports false for a cookie that must not
// be set: one with a name of the cluster, or one that is only valid for a whole host.
func cleanCookie(c *http.Cookie, path string) bool {
	if isReserved(c.Name) || strings.HasPrefix(strings.ToLower(c.Name), "__host-") {
		return false
	}
	c.Domain = ""
	if !strings.HasPrefix(c.Path, path) {
		c.Path = path
	}
	return c.String() != ""
}
