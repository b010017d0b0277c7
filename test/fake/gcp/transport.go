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

// Client is an HTTP client whose requests end in the world and are made by a caller:
// "user:ann@example.com", "serviceAccount:…". An empty one is the owner. A person's requests
// count against the quota of Project, as those of a login on a workstation do.
func (w *World) Client(member string) *http.Client {
	t := &transport{world: w, token: w.Token(Caller{Member: member})}
	if strings.HasPrefix(member, "user:") {
		t.quota = Project
	}
	return &http.Client{Transport: t}
}

// Transport is how a caller's requests reach the world without a socket.
func (w *World) Transport(c Caller) http.RoundTripper {
	return &transport{world: w, token: w.Token(c)}
}

type transport struct {
	world *World
	token string
	quota string // the project whose quota requests count against; empty leaves it to Google
}

// RoundTrip answers in the caller's goroutine.
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
		_ = r.Body.Close() // a reader in memory
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

// ServeHTTP answers over a socket. A reply that is lost ends the connection.
func (w *World) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	out, err := w.serve(r)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	out.send(rw)
}

// lost is a connection that ended before there was an answer.
func lost(cause error) error {
	return fmt.Errorf("%w: %w", cause, &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET})
}
