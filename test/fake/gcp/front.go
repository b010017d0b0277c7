package gcptest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"
)

// HostNames returns the host names of Google's services and token endpoints.
func HostNames() []string {
	out := []string{"oauth2.googleapis.com", "www.googleapis.com"}
	for name := range services() {
		out = append(out, name+".googleapis.com")
	}
	slices.Sort(out)
	return out
}

// Front returns a handler for all of Google's hosts: the services, the token signing keys, and the
// token endpoint for users.
func (w *World) Front() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("www.googleapis.com/oauth2/v3/certs", w.Certs("key-1"))
	mux.HandleFunc("POST oauth2.googleapis.com/token", w.refreshToken)
	mux.HandleFunc("/", func(rw http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
			// Unimplemented: Google's agents on instances use gRPC for their own logs.
			rw.Header().Set("Content-Type", "application/grpc")
			rw.Header().Set("Grpc-Status", "12")
			return
		}
		r.URL.Scheme, r.URL.Host = "https", r.Host // the host determines the service
		w.ServeHTTP(rw, r)
	})
	return mux
}

// refreshPrefix is the prefix of a user's refresh token.
const refreshPrefix = "refresh-"

// UserCredentials returns the file that `gcloud auth application-default login` writes for a user:
// "user:ann@example.com".
// https://cloud.google.com/docs/authentication/application-default-credentials#personal
func UserCredentials(member string) []byte {
	b, _ := json.Marshal(map[string]string{ // strings only
		"type": "authorized_user", "client_id": "client", "client_secret": "secret", "refresh_token": refreshPrefix + member,
	})
	return b
}

// refreshToken exchanges a user's refresh token for an access token.
// https://developers.google.com/identity/protocols/oauth2/web-server#offline
func (w *World) refreshToken(rw http.ResponseWriter, r *http.Request) {
	member, found := strings.CutPrefix(r.PostFormValue("refresh_token"), refreshPrefix)
	rw.Header().Set("Content-Type", "application/json")
	if !found || r.PostFormValue("grant_type") != "refresh_token" {
		rw.WriteHeader(http.StatusBadRequest)
		_, _ = rw.Write([]byte(`{"error": "invalid_grant", "error_description": "Bad Request"}`))
		return
	}
	_ = json.NewEncoder(rw).Encode(map[string]any{ // the client may have disconnected
		"access_token": w.Token(Caller{Member: member}), "expires_in": int(tokenLife / time.Second), "token_type": "Bearer",
	})
}

// Disks returns the numeric IDs of the disks of all projects by path.
func (w *World) Disks() map[string]uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settle()
	out := make(map[string]uint64)
	for path, d := range w.engine.disks.all() {
		out[path] = d.Id
	}
	return out
}

// CallerOf returns the caller of an access token, and whether the token is valid.
func (w *World) CallerOf(token string) (Caller, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.callers[token]
	if c == nil {
		return Caller{}, false
	}
	return *c, true
}
