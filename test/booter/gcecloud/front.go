package gcecloud

import (
	"context"
	"crypto/tls"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/internal/pki"
	"github.com/det-deploy/det-deploy/test/booter"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

// trustedFile is the image's file of trusted CA certificates.
const trustedFile = "etc/ssl/certs/ca-certificates.crt"

// front serves Google's host names in a lab.
type front struct {
	lab *booter.Lab
	// hosts holds the lines of /etc/hosts for the host names, trusted the CA certificates in PEM
	// that a machine trusts: those of the host and the lab's own.
	hosts, trusted string
	// dir holds both as files, for client programs.
	dir string
	env []string
}

func openFront(t testing.TB, lab *booter.Lab, world *gcptest.World, further map[string]http.Handler) *front {
	t.Helper()
	names := slices.Concat(gcptest.HostNames(), slices.Sorted(maps.Keys(further)))
	f := &front{lab: lab, hosts: booter.Gateway + " " + strings.Join(names, " ") + "\n", dir: t.TempDir()}
	serveTLS(t, lab, f.authorize(t, names), route(world, further))
	f.writeHosts(t, f.hosts)
	f.env = []string{"PATH=" + os.Getenv("PATH"), "SSL_CERT_FILE=" + filepath.Join(f.dir, "trusted.pem")}
	return f
}

func (f *front) writeHosts(t testing.TB, lines string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, "hosts"), []byte("127.0.0.1 localhost\n"+lines), 0o600); err != nil {
		t.Fatal(err)
	}
}

// serveMetadata serves a machine's metadata server at the lab's gateway.
func (f *front) serveMetadata(t testing.TB, h http.Handler) {
	t.Helper()
	listener := f.lab.ListenAt(t, 80)
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }() // it returns when the listener is closed
	t.Cleanup(func() { _ = server.Close() })
	f.writeHosts(t, f.hosts+booter.Gateway+" metadata.google.internal\n")
	f.env = append(f.env, "GCE_METADATA_HOST="+booter.Gateway)
}

// authorize creates a CA that the lab trusts, and a certificate for names.
func (f *front) authorize(t testing.TB, names []string) tls.Certificate {
	t.Helper()
	ca, err := pki.NewAuthority("The lab's Google", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := ca.NewLeaf("googleapis.com", names, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	out, err := tls.X509KeyPair(leaf.Certificate, leaf.Key)
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile("/" + trustedFile)
	if err != nil {
		t.Fatal(err)
	}
	f.trusted = string(have) + string(ca.Certificate)
	if err := os.WriteFile(filepath.Join(f.dir, "trusted.pem"), []byte(f.trusted), 0o600); err != nil {
		t.Fatal(err)
	}
	return out
}

// route serves additional host names with their own handlers, and all others with the fake Google
// Cloud.
func route(world *gcptest.World, further map[string]http.Handler) http.Handler {
	google := world.Front()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h := further[r.Host]; h != nil {
			h.ServeHTTP(w, r)
			return
		}
		google.ServeHTTP(w, r)
	})
}

// serveTLS serves HTTPS at the lab's gateway.
func serveTLS(t testing.TB, lab *booter.Lab, certificate tls.Certificate, h http.Handler) {
	t.Helper()
	listener := lab.ListenAt(t, 443)
	server := &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
	}
	go func() { _ = server.ServeTLS(listener, "", "") }() // it returns when the listener is closed
	t.Cleanup(func() { _ = server.Close() })
}

// Command returns a command that runs in the lab. Google's host names resolve to the lab's fake,
// and its environment trusts the lab's CA. The caller may add to the environment.
func (f *front) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	const enter = `mount --bind "$0" /etc/hosts && exec "$@"`
	before := []string{"unshare", "--mount", "sh", "-c", enter, filepath.Join(f.dir, "hosts"), name}
	cmd := f.lab.Command(ctx, before[0], append(before[1:], args...)...)
	cmd.Env = slices.Clone(f.env)
	return cmd
}
