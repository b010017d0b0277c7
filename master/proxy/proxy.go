// Package proxy lets browsers and clients visit programs inside tasks, at the ports that a task's
// environment.proxy_ports lists. No port of an agent or a pod need be reachable: it connects through the
// streams of the resource manager.
//
//	/proxy/<task>/…          the task's default port
//	/proxy/<task>:<port>/…   another one
//
//	request ─▶ findService ─▶ admit: ticket, token or login ─▶ remove credentials ─▶ HTTP, upgraded or TCP
//	                             └─▶ a ticket in the address becomes a cookie of this path alone
//
// A program inside a task is a stranger to the cluster: it gets none of the visitor's credentials, and its
// responses cannot set cookies for other paths. Its pages should have another host name than the API, see
// Config.Origin.
package proxy

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/server/guard"
	"github.com/det-deploy/det-deploy/master/task"
	"github.com/det-deploy/det-deploy/master/token"
)

// Prefix is the path of all services.
const Prefix = "/proxy/"

// Services finds running services. master/task implements it.
type Services interface {
	// Service returns a service; port 0 selects the task's default port. Its error has the code NotFound.
	Service(ctx context.Context, task string, port int) (task.Service, error)
}

// Visitors authenticates visitors. master/auth implements it.
type Visitors interface {
	// UserOf returns the user of a token and, for a token inside a task, the allocation.
	UserOf(text string) (u *apiv1.User, inTask string, err error)
	// IssueTicket returns a ticket for a service on behalf of a token, ExtendTicket one on behalf of a
	// ticket, and VisitorOf the user on whose behalf one was issued.
	IssueTicket(text, service string, life time.Duration) (token.Text, error)
	ExtendTicket(ticket token.Text, service string, life time.Duration) (token.Text, error)
	VisitorOf(ticket token.Text, service string) (*apiv1.User, error)
}

// Config configures New. All fields except for Origin, Secure and Log must be set.
type Config struct {
	Services Services
	Visitors Visitors
	// Streams returns the streams of the resource manager.
	Streams func() rm.Streams
	// Login connects a visitor at an address to the login of a shell, until ctx ends.
	Login func(ctx context.Context, s task.Service, address string) net.Conn
	// Entered is called when a visitor gets a ticket for a service, for the audit log.
	Entered func(ctx context.Context, r *http.Request, by *apiv1.User, service string)
	// Visited is called at the end of each request that was forwarded; it may be nil.
	Visited func(rm.ContainerID)
	// Origin is where browsers find services, such as https://services.example.com. If its host has a
	// leading "*.", each service has a name of its own. Nil serves them at every name of the master.
	Origin *url.URL
	// Secure reports that the master is reached by TLS.
	Secure bool
	Log    *slog.Logger
}

// Proxy serves requests below Prefix. It is safe for concurrent use.
type Proxy struct {
	cfg     Config
	forward *forwarder
	// visits counts the open requests of each container.
	visits *guard.Waits
}

// mostVisits is the maximum number of open requests per container: browsers open six connections per name,
// and a notebook some more for its kernels. It is half of the streams into a container, so that visitors keep
// nobody from running programs in it.
const mostVisits = 128

// New returns a proxy.
func New(cfg Config) *Proxy {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Proxy{cfg: cfg, forward: newForwarder(cfg), visits: guard.NewWaits(mostVisits)}
}

// Visits returns the number of open requests of visitors to a container.
func (p *Proxy) Visits(c rm.ContainerID) int { return p.visits.Count(string(c)) }

// service is a service with its name in paths.
type service struct {
	task.Service

	name name
}

// ServeHTTP serves one visit.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.EscapedPath(), InteractivePrefix) {
		openInteractive(w, r)
		return
	}
	name, found := parseName(r.URL)
	if !found {
		refuse(w, http.StatusNotFound, "service not found: the path must be "+Prefix+"<task>/ or "+Prefix+"<task>:<port>/")
		return
	}
	if r.URL.Path == strings.TrimSuffix(name.path(), "/") {
		redirect(w, r, (&url.URL{Path: name.path(), RawQuery: r.URL.RawQuery}).String())
		return
	}
	s, err := p.cfg.Services.Service(r.Context(), name.task, name.port)
	if err != nil {
		p.refuseService(w, name, err)
		return
	}
	it := service{s, name}
	if address, elsewhere := p.elsewhere(r, it); elsewhere {
		p.sendElsewhere(w, r, it, address)
		return
	}
	switch a := p.admit(r, it); {
	case a.refusal != "":
		refuse(w, a.status, a.refusal)
	case a.ticket != "":
		p.acceptTicket(w, r, it, a)
	default:
		p.visit(w, r, it)
	}
}

// visit forwards a request that was admitted.
func (p *Proxy) visit(w http.ResponseWriter, r *http.Request, s service) {
	leave, err := p.visits.Acquire(string(s.Container))
	if err != nil {
		refuse(w, http.StatusServiceUnavailable, "service "+s.name.String()+" has the maximum number of open requests; close some of its pages")
		return
	}
	defer leave()
	if p.cfg.Visited != nil {
		defer p.cfg.Visited(s.Container)
	}
	if !s.Unauthenticated {
		guard.MarkKnown(r.Context())
	}
	r = withoutCredentials(r)
	if s.TCP {
		p.forward.tunnel(w, r, s)
		return
	}
	p.forward.serve(w, r, s)
}
