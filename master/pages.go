package master

import (
	"net/http"
	"time"

	"github.com/det-deploy/det-deploy/master/pages"
	"github.com/det-deploy/det-deploy/master/pages/ui"
	"github.com/det-deploy/det-deploy/master/server"
)

// reuse is shorter than the pause between two requests of a page.
const reuse = 500 * time.Millisecond

// newPages returns the web pages on the API.
func (m *Master) newPages(api http.Handler) http.Handler {
	return pages.New(ui.Config{
		API: api, CSRFToken: server.CSRFToken, SessionCookie: server.PagesCookie, Cluster: m.parts.Config.ClusterName, Secure: m.certificate != nil, Reuse: reuse, Log: m.log, Now: time.Now,
	})
}
