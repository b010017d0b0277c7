package proxy

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// startLife is how long a ticket is valid that is issued before its service runs: the client of Determined
// 0.38.1 waits up to 30 minutes for that.
const startLife = 30*time.Minute + AddressLife

// Address returns the path of a task's default service, which need not run yet, with a ticket on behalf of a
// user's token. The caller checks that the user may visit it.
func (p *Proxy) Address(text, id string) (string, error) {
	n := name{task: id}
	ticket, err := p.cfg.Visitors.IssueTicket(text, n.String(), startLife)
	return n.path() + "?" + ticketParameter + "=" + url.QueryEscape(string(ticket)), err
}

// Open returns the address of a service for a browser, with a ticket on behalf of a user's token. It is a
// path of the master, or complete if services have a host name of their own. The errors have the codes
// NotFound, PermissionDenied, and Unauthenticated for a token that is not valid any more.
func (p *Proxy) Open(ctx context.Context, by *apiv1.User, text, of string) (string, error) {
	n, ok := readName(of)
	if !ok {
		return "", status.New(status.NotFound, "service not found: %q must be <task> or <task>:<port>", of)
	}
	found, err := p.cfg.Services.Service(ctx, n.task, n.port)
	if err != nil {
		return "", err
	}
	s := service{found, n}
	if a := judge(s, by, true); a.status == http.StatusForbidden && !s.Unauthenticated {
		return "", status.New(status.PermissionDenied, "%s", a.refusal)
	}
	u := url.URL{Path: n.path()}
	if p.cfg.Origin != nil {
		u = *originOf(p.cfg.Origin, n)
		u.Path = n.path()
	}
	if s.Unauthenticated {
		return u.String(), nil
	}
	ticket, err := p.cfg.Visitors.IssueTicket(text, n.String(), AddressLife)
	u.RawQuery = ticketParameter + "=" + url.QueryEscape(string(ticket))
	return u.String(), err
}
