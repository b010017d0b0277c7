package server

import (
	"net/http"
	"strings"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// serviceCalls serves the calls about services of tasks.
type serviceCalls struct{ *shared }

func (s *serviceCalls) routes() []route {
	if s.cfg.Services == nil {
		return nil
	}
	return []route{auditedRoute("service.open", postRoute("services/{service}/open", person, plainCall(s.open)))}
}

func (s *serviceCalls) open(c *call) (*apiv1.OpenServiceResponse, error) {
	task, _, _ := strings.Cut(c.PathValue("service"), ":")
	c.noteTarget(c.PathValue("service"), s.ownerOf(c, task))
	address, err := s.cfg.Services.Open(c.Context(), c.user, c.token, c.PathValue("service"))
	return &apiv1.OpenServiceResponse{Address: address}, err
}

// servicesPath is the path of the services of tasks, and interactivePath that of the addresses that the client
// of Determined 0.38.1 prints for them.
const (
	servicesPath    = "/proxy/"
	interactivePath = "/det/interactive/"
)

// isService reports whether a request is for a service. The addresses that the client prints are those of the
// page that waits for a service, unless the visitor has a ticket and no login of the pages.
func (s *shared) isService(r *http.Request) bool {
	path := r.URL.EscapedPath()
	if strings.HasPrefix(path, servicesPath) || !strings.HasPrefix(path, interactivePath) {
		return strings.HasPrefix(path, servicesPath)
	}
	hasTicket := strings.Contains(path, "token%3D")
	return s.cfg.Pages == nil || hasTicket && len(r.CookiesNamed(PagesCookie(r.Host))) == 0
}

// servicesFirst routes the visitors of services before the mux interprets their paths, which belong to the
// services. They are no requests of the API: none of its rules for other sites applies. Visits end when the
// master stops.
func (s *shared) servicesFirst(rest http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.isService(r) {
			rest.ServeHTTP(w, r)
			return
		}
		r.Pattern = servicesPath
		ctx, cancel := s.whileServing(r.Context())
		defer cancel()
		s.cfg.Services.ServeHTTP(w, r.WithContext(ctx))
	})
}
