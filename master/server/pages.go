package server

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
)

// pagesPath is the path of the web pages.
const pagesPath = "/det/"

// PagesCookie returns the name of the cookie with a login of the pages, which is another one for each port:
// browsers send cookies to all ports of a host, such as those of several clusters on one machine.
func PagesCookie(hostport string) string {
	const name = "det_session"
	_, port, err := net.SplitHostPort(hostport)
	if n, bad := strconv.ParseUint(port, 10, 16); err == nil && bad == nil {
		return fmt.Sprintf("%s_%d", name, n)
	}
	return name
}

// pages returns the handler of the web pages. They are not at the host names of services, whose pages could
// use the cookie of a login there.
func (s *Server) pages(api http.Handler) http.Handler {
	pages := s.cfg.Pages(api)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.cfg.Services == nil || !s.cfg.Services.IsServiceHost(r.Host) {
			pages.ServeHTTP(w, r)
			return
		}
		to, found := otherLoopback(r.Host)
		if !found || r.Method != http.MethodGet || s.cfg.Services.IsServiceHost(to) {
			elsewhere(w, r)
			return
		}
		scheme := "http://"
		if s.cfg.Certificate != nil {
			scheme = "https://"
		}
		http.Redirect(w, r, scheme+to+r.URL.RequestURI(), http.StatusFound) //nolint:gosec // it is a loopback address
	})
}

// otherLoopback returns the other of the two names of this machine for itself, of which services have one.
func otherLoopback(hostport string) (string, bool) {
	host, port, err := net.SplitHostPort(hostport)
	if err != nil {
		return "", false
	}
	others := map[string]string{"127.0.0.1": "localhost", "localhost": "127.0.0.1"}
	return net.JoinHostPort(others[host], port), others[host] != ""
}
