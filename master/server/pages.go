package server

import "net/http"

// pagesPath is the path of the web pages.
const pagesPath = "/det/"

// pagesCookie is the cookie of a login of the pages.
const pagesCookie = "det_session"

// pages returns the handler of the web pages. They are not at the host names of services, whose pages could
// use the cookie of a login there.
func (s *Server) pages(api http.Handler) http.Handler {
	pages := s.cfg.Pages(api)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.cfg.Services != nil && s.cfg.Services.IsServiceHost(r.Host) {
			elsewhere(w, r)
			return
		}
		pages.ServeHTTP(w, r)
	})
}
