package gcptest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/internal/wait"
)

// Metadata returns the metadata server of one instance.
// https://cloud.google.com/compute/docs/metadata/predefined-metadata-keys
func (w *World) Metadata(projectID, zoneName, name string) http.Handler {
	m := metadataServer{w, projectID, zoneName, name}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+metadataRoot, m.serveValue)
	mux.HandleFunc("GET "+metadataRoot+"instance/service-accounts/{account}/identity", m.serveIdentity)
	mux.HandleFunc("GET "+metadataRoot+"instance/service-accounts/{account}/token", m.serveToken)
	mux.HandleFunc("PUT "+metadataRoot+"instance/guest-attributes/{namespace}/{key}", m.writeGuestAttribute)
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Metadata-Flavor", "Google")
		rw.Header().Set("Server", "Metadata Server for VM")
		if r.URL.Path == "/" { // libraries use it to detect Compute Engine
			_, _ = io.WriteString(rw, "computeMetadata/\n")
			return
		}
		if r.Header.Get("Metadata-Flavor") != "Google" {
			http.Error(rw, "Missing Metadata-Flavor:Google header.", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(rw, r)
	})
}

const metadataRoot = "/computeMetadata/v1/"

type metadataServer struct {
	world               *World
	project, zone, name string
}

// machine returns the current instance with its hidden state. A deleted instance may still send a
// last request.
func (m metadataServer) machine() (out *machine, found bool) {
	m.world.mu.Lock()
	defer m.world.mu.Unlock()
	m.world.settle()
	live, found := m.world.engine.instances.get(machinePath(m.project, m.zone, m.name))
	if !found {
		return nil, false
	}
	return &machine{Instance: *clone(&live.Instance), preempted: live.preempted, maintenance: live.maintenance}, true
}

// serveValue returns a value or a directory, at once or after a change.
// https://cloud.google.com/compute/docs/metadata/querying-metadata
func (m metadataServer) serveValue(rw http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	v, tag, found := m.read(r.URL.Path)
	if query.Get("wait_for_change") == "true" && found {
		v, tag, found = m.awaitChange(r, v, tag)
	}
	recursive := query.Get("recursive") == "true"
	switch {
	case !found:
		http.NotFound(rw, r)
	case isDirectory(v) && !recursive && !strings.HasSuffix(r.URL.Path, "/"):
		http.Redirect(rw, r, r.URL.Path+"/", http.StatusMovedPermanently)
	case query.Get("alt") == "json" || recursive && query.Get("alt") != "text" || !isText(v) && !isDirectory(v):
		rw.Header().Set("Etag", tag)
		rw.Header().Set("Content-Type", "application/json")
		b, _ := json.Marshal(camelKeys(v)) // maps, lists and strings
		_, _ = rw.Write(b)
	default:
		rw.Header().Set("Etag", tag)
		rw.Header().Set("Content-Type", "application/text")
		_, _ = io.WriteString(rw, toText(v))
	}
}

func (m metadataServer) read(path string) (v any, tag string, found bool) {
	i, found := m.machine()
	if !found {
		return nil, "", false
	}
	v, found = findValue(m.values(i), strings.TrimPrefix(path, metadataRoot))
	b, _ := json.Marshal(v)
	return v, strconv.FormatUint(stableID(string(b)), 16), found
}

// changePause is the polling interval while a client waits for a change.
const changePause = 50 * time.Millisecond

// awaitChange returns when a value differs from the one known to the client, or after its timeout.
func (m metadataServer) awaitChange(r *http.Request, v any, tag string) (any, string, bool) {
	known, found := tag, true
	if last := r.URL.Query().Get("last_etag"); last != "" {
		known = last
	}
	seconds, err := strconv.Atoi(r.URL.Query().Get("timeout_sec"))
	end := m.world.Now().Add(time.Duration(seconds) * time.Second)
	for found && tag == known && (err != nil || m.world.Now().Before(end)) {
		if wait.For(r.Context(), changePause) != nil {
			break
		}
		v, tag, found = m.read(r.URL.Path)
	}
	return v, tag, found
}

// externalOf returns the external address of an interface, or "".
func externalOf(nic *compute.NetworkInterface) string {
	if len(nic.AccessConfigs) == 0 {
		return ""
	}
	return nic.AccessConfigs[0].NatIP
}

// account returns the service account of a request: "default" or an email.
func (m metadataServer) account(r *http.Request) *compute.ServiceAccount {
	name := r.PathValue("account")
	i, found := m.machine()
	if !found {
		return nil
	}
	for _, a := range i.ServiceAccounts {
		if name == "default" || name == a.Email {
			return a
		}
	}
	return nil
}

// serveIdentity returns an identity token of an instance with a service account. The standard
// format does not identify the instance.
// https://cloud.google.com/compute/docs/instances/verifying-instance-identity#request_signature
func (m metadataServer) serveIdentity(rw http.ResponseWriter, r *http.Request) {
	audience := r.URL.Query().Get("audience")
	switch {
	case m.account(r) == nil:
		http.NotFound(rw, r)
		return
	case audience == "":
		http.Error(rw, "non-empty audience parameter required", http.StatusBadRequest)
		return
	}
	claims := m.world.Claims(m.project, m.zone, m.name, audience)
	if r.URL.Query().Get("format") != "full" {
		delete(claims, "google")
	}
	_, _ = io.WriteString(rw, m.world.SignToken("key-1", claims))
}

// serveToken returns an access token of the instance's service account.
// https://cloud.google.com/compute/docs/access/authenticate-workloads#applications
func (m metadataServer) serveToken(rw http.ResponseWriter, r *http.Request) {
	a := m.account(r)
	if a == nil {
		http.NotFound(rw, r)
		return
	}
	c := Caller{Member: "serviceAccount:" + a.Email}
	for _, s := range a.Scopes {
		c.Scopes = append(c.Scopes, strings.TrimPrefix(s, scopePrefix))
	}
	rw.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(rw).Encode(map[string]any{ // the client may have disconnected
		"access_token": m.world.Token(c), "expires_in": int(tokenLife/time.Second) - 1, "token_type": "Bearer",
	})
}

// writeGuestAttribute stores a guest attribute if they are enabled.
// https://cloud.google.com/compute/docs/metadata/manage-guest-attributes
func (m metadataServer) writeGuestAttribute(rw http.ResponseWriter, r *http.Request) {
	if i, found := m.machine(); !found || !i.allowsGuestAttributes() {
		http.Error(rw, "Guest attributes endpoint access is disabled.", http.StatusForbidden)
		return
	}
	value, err := io.ReadAll(io.LimitReader(r.Body, 256<<10))
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	m.world.SetGuestAttribute(m.project, m.zone, m.name, strings.Join([]string{r.PathValue("namespace"), r.PathValue("key")}, "/"), string(value))
}

// InProcess returns a transport that calls a handler directly.
func InProcess(h http.Handler) http.RoundTripper { return inProcess{h} }

type inProcess struct{ handler http.Handler }

// RoundTrip calls the handler in the caller's goroutine.
func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	rec := httptest.NewRecorder()
	p.handler.ServeHTTP(rec, r)
	out := rec.Result()
	out.Request = r
	return out, nil
}
