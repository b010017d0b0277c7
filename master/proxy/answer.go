package proxy

import (
	"encoding/json"
	"net/http"

	"github.com/det-deploy/det-deploy/master/api/status"
)

// refuse responds with an error. Clients read the field "message".
func refuse(w http.ResponseWriter, code int, text string) {
	b, _ := json.Marshal(map[string]string{"message": text}) // a map of strings can always be encoded
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_, _ = w.Write(b) // the visitor may have left
}

// refuseService responds if a service was not found.
func (p *Proxy) refuseService(w http.ResponseWriter, n name, err error) {
	if status.Of(err) != status.NotFound {
		p.cfg.Log.Warn("cannot find a service", "service", n.String(), "err", err)
		refuse(w, http.StatusServiceUnavailable, "service "+n.String()+" cannot be found now; try again")
		return
	}
	refuse(w, http.StatusNotFound, err.Error())
}

// redirect opens another address. The address of this one may contain a ticket, and is not told to others.
func redirect(w http.ResponseWriter, r *http.Request, to string) {
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, to, http.StatusSeeOther)
}
