package proxy

import (
	"net/http"
	"net/url"
	"strings"
)

// InteractivePrefix is the path of the addresses that the client of Determined 0.38.1 prints for notebooks and
// TensorBoards:
//
//	/det/interactive/<task>/<type>/<description>/<pool>/<another address>
//
// The other address ends with "serviceAddr=" and the address of the service.
const InteractivePrefix = "/det/interactive/"

// openInteractive sends a browser on to the service itself.
func openInteractive(w http.ResponseWriter, r *http.Request) {
	to, found := serviceAddress(r.URL.EscapedPath())
	if !found {
		refuse(w, http.StatusNotFound, "service not found: the path must be "+InteractivePrefix+"<task>/…")
		return
	}
	redirect(w, r, to)
}

// serviceAddress returns the address of the service in a path. It leads to no other site.
func serviceAddress(path string) (string, bool) {
	rest, _ := strings.CutPrefix(path, InteractivePrefix)
	parts := strings.Split(rest, "/")
	n, found := readName(parts[0])
	if !found {
		return "", false
	}
	other, err := url.QueryUnescape(parts[len(parts)-1])
	if err != nil {
		return n.path(), true
	}
	u, err := url.Parse(other[strings.LastIndex(other, "=/")+1:])
	if err != nil || u.Path != n.path() || !u.Query().Has(ticketParameter) {
		return n.path(), true
	}
	return n.path() + "?" + ticketParameter + "=" + url.QueryEscape(u.Query().Get(ticketParameter)), true
}
