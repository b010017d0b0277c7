package proxy

import (
	"net/http"
	"net/url"
	"strings"
)

// elsewhere returns the address to which a browser is sent, if it asks for a service at another host name
// than that of services. Clients that are no browsers are served at every name: they run no pages.
func (p *Proxy) elsewhere(r *http.Request, s service) (*url.URL, bool) {
	if p.cfg.Origin == nil || !isBrowser(r) {
		return nil, false
	}
	u := originOf(p.cfg.Origin, s.name)
	if strings.EqualFold(r.Host, u.Host) {
		return nil, false
	}
	u.Path, u.RawPath, u.RawQuery = r.URL.Path, r.URL.RawPath, r.URL.RawQuery
	return u, true
}

// sendElsewhere redirects a page. The login of the visitor is exchanged for a ticket, because the browser
// does not send its cookie to the other name.
func (p *Proxy) sendElsewhere(w http.ResponseWriter, r *http.Request, s service, to *url.URL) {
	if !isPage(r) {
		refuse(w, http.StatusForbidden, "browsers find service "+s.name.String()+" at "+to.Scheme+"://"+to.Host)
		return
	}
	if ticket, found := p.ticketOfLogin(r, s); found {
		query := ticketParameter + "=" + url.QueryEscape(ticket)
		if rest := withoutParameter(r.URL); rest != "" {
			query = rest + "&" + query
		}
		to.RawQuery = query
	}
	redirect(w, r, to.String())
}

// originOf returns the origin of a service.
func originOf(origin *url.URL, n name) *url.URL {
	u := url.URL{Scheme: origin.Scheme, Host: origin.Host}
	if rest, each := strings.CutPrefix(u.Host, "*."); each {
		u.Host = n.label() + "." + rest
	}
	return &u
}

// IsServiceHost reports whether services have a host name, with its port, for themselves. A login must not
// be accepted there.
func (p *Proxy) IsServiceHost(host string) bool {
	if p.cfg.Origin == nil {
		return false
	}
	host, own := strings.ToLower(host), strings.ToLower(p.cfg.Origin.Host)
	if rest, each := strings.CutPrefix(own, "*"); each {
		return strings.HasSuffix(host, rest)
	}
	return host == own
}
