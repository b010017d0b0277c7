package guard

import (
	"net/http"
	"slices"
)

// corsAge is how long browsers may cache the response to a preflight request, in seconds. It is the
// maximum of Chrome.
const corsAge = "7200"

// AllowOrigins permits pages of the listed origins to call the API with a bearer token. It does not allow
// credentials, so that browsers do not use the session cookie for these pages. It answers preflight
// requests itself because they have no token.
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
