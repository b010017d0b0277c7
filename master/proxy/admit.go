package proxy

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/token"
)

const (
	// ticketCookie is the name of the cookie with the ticket of a service.
	ticketCookie = "det_ticket"
	// sessionCookie is the cookie of a login, which is part of the API contract.
	sessionCookie = "auth"
	// ticketParameter is the parameter of an address with a ticket.
	ticketParameter = "token"

	// AddressLife is how long a ticket in an address is valid: addresses are kept in histories.
	AddressLife = 10 * time.Minute
	// visitLife is how long the cookie of a visitor is valid, as long as the login on whose behalf it was
	// issued: that of a session.
	visitLife = 7 * 24 * time.Hour
)

// admission is the decision about a request: it is refused, exchanges a ticket, or is served.
type admission struct {
	refusal string
	status  int
	// ticket is a ticket from an address, which becomes a cookie.
	ticket token.Text
	by     *apiv1.User
}

// admit decides about a request for a service.
func (p *Proxy) admit(r *http.Request, s service) admission {
	if s.Unauthenticated {
		return admission{}
	}
	if text, found := clusterToken(r); found {
		u, inTask, err := p.cfg.Visitors.UserOf(text)
		return judge(s, u, err == nil && inTask == "")
	}
	if ticket := r.URL.Query().Get(ticketParameter); ticket != "" {
		u, err := p.cfg.Visitors.VisitorOf(token.Text(ticket), s.name.String())
		a := judge(s, u, err == nil)
		if a.refusal == "" && isPage(r) {
			a.ticket, a.by = token.Text(ticket), u
		}
		if a.refusal == "" || !hasTicket(r) {
			return a
		}
	}
	if !isOwn(r) {
		return admission{
			status:  http.StatusForbidden,
			refusal: "requests of other pages to service " + s.name.String() + " are not allowed; open its address in the browser",
		}
	}
	for _, c := range r.CookiesNamed(ticketCookie) {
		if u, err := p.cfg.Visitors.VisitorOf(token.Text(c.Value), s.name.String()); err == nil {
			return judge(s, u, true)
		}
	}
	return p.admitLogin(r, s)
}

// admitLogin exchanges the login of a browser for a ticket. Only a page that is opened may do that, and not a
// request by another page.
func (p *Proxy) admitLogin(r *http.Request, s service) admission {
	if p.cfg.Origin != nil || !isPage(r) { // elsewhere, sendElsewhere does that
		return judge(s, nil, false)
	}
	u, text, known := p.loginOf(r)
	a := judge(s, u, known)
	if a.refusal != "" {
		return a
	}
	ticket, err := p.cfg.Visitors.IssueTicket(text, s.name.String(), AddressLife)
	if err != nil { // it ended a moment ago
		return judge(s, nil, false)
	}
	return admission{ticket: ticket, by: u}
}

// ticketOfLogin returns a ticket for the address of a service, if the browser is logged in and its user may
// visit the service.
func (p *Proxy) ticketOfLogin(r *http.Request, s service) (string, bool) {
	u, text, known := p.loginOf(r)
	if judge(s, u, known).refusal != "" {
		return "", false
	}
	ticket, err := p.cfg.Visitors.IssueTicket(text, s.name.String(), AddressLife)
	return string(ticket), err == nil
}

// loginOf returns the login of a browser. Two cookies of that name mean that a page has planted one.
func (p *Proxy) loginOf(r *http.Request) (u *apiv1.User, text string, known bool) {
	cookies := r.CookiesNamed(sessionCookie)
	if len(cookies) != 1 {
		return nil, "", false
	}
	u, inTask, err := p.cfg.Visitors.UserOf(cookies[0].Value)
	return u, cookies[0].Value, err == nil && inTask == ""
}

// judge returns the decision about a user. Services are for the owner of their task and for
// administrators, because most give as much access as a shell, except for TensorBoards.
func judge(s service, u *apiv1.User, known bool) admission {
	switch {
	case !known:
		return admission{
			status:  http.StatusUnauthorized,
			refusal: "log in to visit service " + s.name.String() + ": run `" + s.name.command() + "` and open the address that it prints",
		}
	case u.GetId() != s.Owner && !u.GetAdmin() && !s.Public:
		return admission{status: http.StatusForbidden, refusal: "service " + s.name.String() + " is for the owner of its task and for administrators"}
	}
	return admission{}
}

// acceptTicket sets the cookie of a visitor and opens the page again at its address without the ticket.
func (p *Proxy) acceptTicket(w http.ResponseWriter, r *http.Request, s service, a admission) {
	long, err := p.cfg.Visitors.ExtendTicket(a.ticket, s.name.String(), visitLife)
	if err != nil { // it ended a moment ago
		refuse(w, http.StatusUnauthorized, judge(s, nil, false).refusal)
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: ticketCookie, Value: string(long), Path: s.name.path(), MaxAge: int(visitLife / time.Second),
		HttpOnly: true, Secure: p.cfg.Secure, SameSite: http.SameSiteLaxMode,
	})
	if p.cfg.Entered != nil {
		p.cfg.Entered(r.Context(), r, a.by, s.name.String())
	}
	redirect(w, r, withoutTicket(r))
}

// clusterToken returns the bearer token of the cluster that a request carries. Services may use the same
// header for tokens of their own.
func clusterToken(r *http.Request) (string, bool) {
	scheme, text, found := strings.Cut(r.Header.Get("Authorization"), " ")
	text = strings.TrimSpace(text)
	return text, found && strings.EqualFold(scheme, "Bearer") && isOurs(text)
}

// isOurs reports whether a text is a token of the cluster.
func isOurs(text string) bool {
	return slices.ContainsFunc([]token.Kind{token.User, token.Allocation}, func(k token.Kind) bool { return strings.HasPrefix(text, string(k)) })
}

func hasTicket(r *http.Request) bool { return len(r.CookiesNamed(ticketCookie)) > 0 }

// isPage reports whether a browser opens a page with a request, or a client cannot be told from one.
func isPage(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead || r.Header.Get("Upgrade") != "" {
		return false
	}
	mode := r.Header.Get("Sec-Fetch-Mode")
	return mode == "" || mode == "navigate"
}

// isOwn reports whether a visitor opens a page, or a page of the service's own origin sends a request. Browsers
// send cookies with requests of other pages too, if their host names differ only in the first label.
func isOwn(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "none":
		return true
	case "":
		from := r.Header.Get("Origin")
		u, err := url.Parse(from)
		return from == "" || err == nil && strings.EqualFold(u.Host, r.Host)
	}
	return isPage(r)
}

// isBrowser reports whether a browser sent a request.
func isBrowser(r *http.Request) bool {
	return r.Header.Get("Sec-Fetch-Site") != "" || strings.Contains(r.Header.Get("Accept"), "text/html")
}
