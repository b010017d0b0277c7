package gcptest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"

	"google.golang.org/api/compute/v1"
)

// Metadata is the metadata server of one machine, as far as a machine proves by it which
// it is. https://cloud.google.com/compute/docs/metadata/predefined-metadata-keys
func (w *World) Metadata(projectID, zoneName, name string) http.Handler {
	m := metadataServer{w, projectID, zoneName, name}
	mux := http.NewServeMux()
	const root = "/computeMetadata/v1/"
	text := func(what string) http.HandlerFunc {
		return func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, what) }
	}
	mux.HandleFunc("GET "+root+"project/project-id", text(projectID))
	mux.HandleFunc("GET "+root+"instance/name", text(name))
	mux.HandleFunc("GET "+root+"instance/zone", text("projects/"+strconv.FormatUint(Number, 10)+"/zones/"+zoneName))
	mux.HandleFunc("GET "+root+"instance/network-interfaces/0/ip", m.serveAddress(func(nic *compute.NetworkInterface) string { return nic.NetworkIP }))
	mux.HandleFunc("GET "+root+"instance/network-interfaces/0/access-configs/0/external-ip", m.serveAddress(externalOf))
	mux.HandleFunc("GET "+root+"instance/service-accounts/default/identity", m.serveIdentity)
	mux.HandleFunc("PUT "+root+"instance/guest-attributes/{namespace}/{key}", m.writeGuestAttribute)
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Metadata-Flavor", "Google")
		if r.Header.Get("Metadata-Flavor") != "Google" {
			http.Error(rw, "Missing Metadata-Flavor:Google header.", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(rw, r)
	})
}

type metadataServer struct {
	world               *World
	project, zone, name string
}

func (m metadataServer) instance() (i *compute.Instance, guest bool) {
	m.world.onMachine(m.project, m.zone, m.name, func(_ string, live *machine) { i, guest = clone(&live.Instance), live.allowsGuestAttributes() })
	return i, guest
}

func (m metadataServer) serveAddress(of func(*compute.NetworkInterface) string) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		i, _ := m.instance()
		_, _ = io.WriteString(rw, of(i.NetworkInterfaces[0]))
	}
}

// externalOf is the external address of an interface, empty where it has none.
func externalOf(nic *compute.NetworkInterface) string {
	if len(nic.AccessConfigs) == 0 {
		return ""
	}
	return nic.AccessConfigs[0].NatIP
}

// serveIdentity gives a machine with a service account a token. In the standard form it
// does not say which machine it is.
// https://cloud.google.com/compute/docs/instances/verifying-instance-identity#request_signature
func (m metadataServer) serveIdentity(rw http.ResponseWriter, r *http.Request) {
	i, _ := m.instance()
	audience := r.URL.Query().Get("audience")
	switch {
	case len(i.ServiceAccounts) == 0:
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

// writeGuestAttribute takes what a machine says of itself, if it is allowed to.
// https://cloud.google.com/compute/docs/metadata/manage-guest-attributes
func (m metadataServer) writeGuestAttribute(rw http.ResponseWriter, r *http.Request) {
	if _, allowed := m.instance(); !allowed {
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

// InProcess carries requests to a handler without a socket.
func InProcess(h http.Handler) http.RoundTripper { return inProcess{h} }

type inProcess struct{ handler http.Handler }

// RoundTrip answers in the caller's goroutine.
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
