package ui

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/master/api/client"
)

// client returns a client of the API for the visitor who sent r.
func (s *Site) client(r *http.Request, session string) *client.Client {
	c, err := client.New(client.Config{
		URL: "http://" + internalHost, Token: session, RetryFor: time.Nanosecond,
		Transport: inProcess{api: s.cfg.API, visitor: r, log: s.cfg.Log},
	})
	if err != nil { // the address is constant
		panic(err)
	}
	return c
}

// internalHost is the host of requests that stay in this process.
const internalHost = "master.internal"

// inProcess sends requests to the API in this process, as if the visitor had sent them.
type inProcess struct {
	api     http.Handler
	visitor *http.Request
	log     *slog.Logger
}

// RoundTrip implements http.RoundTripper. The response begins when the API has written its header, so that
// streams can be read while they grow.
func (t inProcess) RoundTrip(out *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(out.Context())
	in := out.Clone(ctx)
	in.URL.Scheme, in.URL.Host, in.RequestURI = "", "", out.URL.RequestURI()
	in.RemoteAddr, in.Proto, in.ProtoMajor, in.ProtoMinor = t.visitor.RemoteAddr, "HTTP/1.1", 1, 1
	in.Header.Set("User-Agent", t.visitor.UserAgent())
	if in.Body == nil {
		in.Body = http.NoBody
	}
	body, w := io.Pipe()
	a := &answer{header: http.Header{}, body: w, begun: make(chan struct{})}
	go t.serve(a, in)
	select {
	case <-a.begun:
	case <-ctx.Done():
		cancel()
		_ = body.CloseWithError(ctx.Err()) // the API must not wait for a reader; it returns nil
		return nil, ctx.Err()
	}
	return &http.Response{
		Status: http.StatusText(a.status), StatusCode: a.status, Proto: in.Proto, ProtoMajor: 1, ProtoMinor: 1,
		Header: a.sent, Body: ending{body, cancel}, ContentLength: -1, Request: out,
	}, nil
}

// serve calls the API. A panic ends only the response, as in a server.
func (t inProcess) serve(a *answer, in *http.Request) {
	defer func() {
		status, err := http.StatusOK, error(nil)
		if p := recover(); p != nil {
			status, err = http.StatusInternalServerError, fmt.Errorf("the call of the API ended early: %v", p)
			if p != http.ErrAbortHandler { //nolint:errorlint // it is compared as net/http does
				t.log.Error("the API panicked", "panic", p, "stack", string(debug.Stack()))
			}
		}
		a.begin(status)
		_ = a.body.CloseWithError(err) // it returns nil
	}()
	t.api.ServeHTTP(a, in)
}

// answer is a response of the API.
type answer struct {
	header http.Header
	body   *io.PipeWriter
	once   sync.Once
	// status and sent are set when begun is closed.
	begun  chan struct{}
	status int
	sent   http.Header
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if status >= http.StatusOK { // others announce the response
		a.begin(status)
	}
}

func (a *answer) begin(status int) {
	a.once.Do(func() {
		a.status, a.sent = status, a.header.Clone()
		close(a.begun)
	})
}

// Write implements http.ResponseWriter.
func (a *answer) Write(b []byte) (int, error) {
	a.begin(http.StatusOK)
	return a.body.Write(b)
}

// Flush implements http.Flusher: everything written has been read.
func (a *answer) Flush() { a.begin(http.StatusOK) }

// ending is a body that cancels its request when it is closed.
type ending struct {
	io.ReadCloser
	cancel context.CancelFunc
}

// Close implements io.Closer.
func (e ending) Close() error {
	e.cancel()
	return e.ReadCloser.Close()
}
