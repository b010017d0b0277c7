package server

import "net/http"

// corsAge is how long a browser may remember the answer to a preflight, in
// seconds; Chrome does not remember longer.
const corsAge = "7200"

// anyOrigin lets pages of every site call, with credentials. It answers preflights
// itself, because they carry no token.
func anyOrigin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		w.Header().Add("Vary", "Origin")
		if origin != "" {
			w.Header().Set("Access-Control-Allow-Origin", origin)
			w.Header().Set("Access-Control-Allow-Credentials", "true")
		}
		if r.Method != http.MethodOptions || origin == "" || r.Header.Get("Access-Control-Request-Method") == "" {
			next.ServeHTTP(w, r)
			return
		}
		h := w.Header()
		h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE")
		if wanted := r.Header.Get("Access-Control-Request-Headers"); wanted != "" {
			h.Set("Access-Control-Allow-Headers", wanted)
		}
		h.Set("Access-Control-Max-Age", corsAge)
		w.WriteHeader(http.StatusNoContent)
	})
}
