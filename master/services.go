package master

import (
	"context"
	"net"
	"net/http"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/audit"
	"github.com/det-deploy/det-deploy/master/proxy"
	"github.com/det-deploy/det-deploy/master/rm"
)

// newProxy returns the proxy of the services of tasks.
func (m *Master) newProxy() *proxy.Proxy {
	cfg := m.parts.Config
	return proxy.New(proxy.Config{
		Services: m.tasks, Visitors: m.auth, Streams: func() rm.Streams { return m.rm },
		Entered: m.recordVisit, Origin: cfg.Proxy.OriginURL(), Secure: m.certificate != nil, Log: m.log,
	})
}

// recordVisit records that a user opened the pages of a service, but not each request.
func (m *Master) recordVisit(ctx context.Context, r *http.Request, by *apiv1.User, service string) {
	address, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		address = r.RemoteAddr
	}
	m.audit.Record(ctx, &apiv1.AuditEntry{
		User: by.GetUsername(), UserId: by.GetId(), Admin: by.GetAdmin(), Address: address,
		Action: "service.visit", Target: service, Outcome: audit.Done,
	})
}
