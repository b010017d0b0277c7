package gcptest

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
)

// Client returns an HTTP client whose requests are handled by the world, as made by a caller:
// "user:ann@example.com", "serviceAccount:…". An empty member is the owner. The requests of a user
// count against the quota of Project, like those of a gcloud login.
func (w *World) Client(member string) *http.Client {
	t := &transport{world: w, token: w.Token(Caller{Member: member})}
	if strings.HasPrefix(member, "user:") {
		t.quota = Project
	}
	return &http.Client{Transport: t}
}

// Transport returns a transport for a caller that calls the world directly.
func (w *World) Transport(c Caller) http.RoundTripper {
	return &transport{world: w, token: w.Token(c)}
}

type transport struct {
	world *World
	token string
	quota string // the quota project; if empty, Google determines it
}

// RoundTrip handles the request in the caller's goroutine.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if r.Header.Get("Authorization") == "" {
		r.Header.Set("Authorization", "Bearer "+t.token)
	}
	if t.quota != "" && r.Header.Get("X-Goog-User-Project") == "" {
		r.Header.Set("X-Goog-User-Project", t.quota)
	}
	out, err := t.world.serve(r)
	if r.Body != nil {
		_ = r.Body.Close() // an in-memory reader
	}
	if err != nil {
		return nil, err
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", out.status, http.StatusText(out.status)), StatusCode: out.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: out.header, Body: io.NopCloser(bytes.NewReader(out.body)), ContentLength: int64(len(out.body)), Request: r,
	}, nil
}

// ServeHTTP handles a request over a connection. A lost response closes the connection.
func (w *World) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	out, err := w.serve(r)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	out.send(rw)
}

// lost returns the error of a connection that was closed before a response arrived.
func lost(cause error) error {
	return fmt.Errorf("%w: %w", cause, &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET})
}
