package guard

import (
	"net/http"
	"slices"
)

// corsAge is how long a browser may remember the answer to a preflight, in
// seconds; Chrome does not remember longer.
const corsAge = "7200"

// AllowOrigins lets pages of the listed origins call the API with a bearer token.
// It allows no credentials, so that a browser neither sends the session cookie nor
// shows what was answered to it. It answers preflights itself, because they carry no
// token.
func AllowOrigins(origins []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		w.Header().Add("Vary", "Origin")
		if !slices.Contains(origins, origin) {
			next.ServeHTTP(w, r)
			return
		}
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", origin)
		if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
			next.ServeHTTP(w, r)
			return
		}
		h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE")
		if wanted := r.Header.Get("Access-Control-Request-Headers"); wanted != "" {
			h.Set("Access-Control-Allow-Headers", wanted)
		}
		h.Set("Access-Control-Max-Age", corsAge)
		w.WriteHeader(http.StatusNoContent)
	})
}
