package registry

import (
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/det-deploy/det-deploy/cloud"
)

// tlsOnly rejects requests without TLS to other machines. The library would use plain HTTP for
// private addresses and follow redirects to plain HTTP.
type tlsOnly struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t tlsOnly) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" && !isLoopback(r.URL.Hostname()) {
		return nil, &plainError{r.URL.Host}
	}
	return t.next.RoundTrip(r)
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// plainError is returned for a request without TLS.
type plainError struct{ host string }

func (e *plainError) Error() string {
	return fmt.Sprintf("refusing to send credentials to %s without TLS", e.host)
}

// isAbsent reports whether the registry does not have a name.
func isAbsent(err error) bool {
	e, ok := errors.AsType[*transport.Error](err)
	return ok && e.StatusCode == http.StatusNotFound
}

// explainError translates a registry's response and adds a fix.
func (r Registry) explainError(op, image string, err error) error {
	e := &cloud.Error{Op: op, Resource: image, Err: err}
	answer, answered := errors.AsType[*transport.Error](err)
	_, plain := errors.AsType[*plainError](err)
	switch {
	case plain || errors.Is(err, http.ErrSchemeMismatch):
		e.Kind, e.Fix = cloud.Invalid, "configure TLS for the registry, or permit plain HTTP with --plain-http and in the container runtime's configuration of each node"
	case answered && (answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden):
		e.Kind, e.Fix = cloud.Denied, fmt.Sprintf("log in with `docker login %s` or `podman login %s` with an account that may push there; some registries require the repository to exist", r.loginHost(), r.loginHost())
	case answered && answer.StatusCode == http.StatusNotFound:
		e.Kind, e.Fix = cloud.NotFound, "check --registry; some registries require the project or repository to exist"
	case !answered:
		e.Kind, e.Fix = cloud.Unavailable, "check --registry and the connection to it; the same command continues"
	}
	return e
}

// loginHost returns the host for `docker login`.
func (r Registry) loginHost() string {
	repository, err := name.NewRepository(r.At + "/x")
	if err != nil {
		return r.At
	}
	return repository.RegistryStr()
}
