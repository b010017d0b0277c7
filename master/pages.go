package master

import (
	"net/http"
	"time"

	"github.com/det-deploy/det-deploy/master/pages"
	"github.com/det-deploy/det-deploy/master/pages/ui"
	"github.com/det-deploy/det-deploy/master/server"
)

// newPages returns the web pages on the API.
func (m *Master) newPages(api http.Handler) http.Handler {
	return pages.New(ui.Config{
		API: api, CSRFToken: server.CSRFToken, Cluster: m.parts.Config.ClusterName, Secure: m.certificate != nil, Log: m.log, Now: time.Now,
	})
}
