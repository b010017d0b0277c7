package kube

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/internal/wait"
)

// AnswerLimit is the timeout of a request that is not a stream. The server's own timeout is one
// minute.
const AnswerLimit = 70 * time.Second

// edge wraps every call to the network:
//
//	client-go, Helm ─▶ edge: gate, retry rule, limit, log, trail ─▶ TLS, authentication ─▶ server
//
// It is in the transport, so that no library can bypass it.
type edge struct {
	gate  *resource.Gate
	log   *slog.Logger
	trail *Trail
	// until cancels all calls of a client returned by Within. A transport has no other access to
	// the context of its operation.
	until context.Context
}

func (e edge) wrapTransport(next http.RoundTripper) http.RoundTripper {
	return &roundTripper{edge: e, next: next}
}

type roundTripper struct {
	edge
	next http.RoundTripper
}

// WrappedRoundTripper lets client-go find the wrapped transport.
func (t *roundTripper) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements http.RoundTripper.
func (t *roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	call := callOf(req)
	changing := mayChange(req, call)
	ctx, cancel := t.boundContext(req, call)
	began := time.Now()
	resp, err := t.sendOnce(req.WithContext(ctx), call, changing)
	if err == nil && resp.StatusCode >= http.StatusBadRequest {
		err = t.refuseCall(resp, call, changing)
		t.traceCall(ctx, call, began, err)
		t.trail.addError(err)
		cancel()
		return resp, nil
	}
	t.traceCall(ctx, call, began, err)
	if err != nil {
		cancel()
		t.trail.addError(translateError(call, changing, err))
		return nil, err
	}
	if rwc, ok := resp.Body.(io.ReadWriteCloser); ok && resp.StatusCode == http.StatusSwitchingProtocols {
		resp.Body = &upgraded{rwc, cancel} // the body of an upgraded connection must stay writable
	} else {
		resp.Body = &body{resp.Body, cancel}
	}
	return resp, nil
}

// boundContext returns the request's context, which is also canceled when the operation ends.
func (t *roundTripper) boundContext(req *http.Request, call Call) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(req.Context())
	if !isFollowed(req, call) {
		ctx, cancel = limitContext(ctx, cancel)
	}
	if t.until == nil {
		return ctx, cancel
	}
	stop := context.AfterFunc(t.until, cancel)
	return ctx, func() { stop(); cancel() }
}

func limitContext(ctx context.Context, outer context.CancelFunc) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, AnswerLimit)
	return ctx, func() { cancel(); outer() }
}

// sendOnce checks the gate, sends the request, and retries reads.
func (t *roundTripper) sendOnce(req *http.Request, call Call, changing bool) (*http.Response, error) {
	if changing {
		if t.gate != nil {
			if err := t.gate.Pass(req.Context(), call.String()); err != nil {
				closeBody(req)
				return nil, &shutError{err}
			}
		}
		return onlyAfter429(t.next.RoundTrip(req))
	}
	for _, pause := range retryPauses() {
		resp, err := t.next.RoundTrip(req)
		if !shouldRetry(req, resp, err) || isFollowed(req, call) {
			return resp, err
		}
		drainBody(resp)
		if wait.For(req.Context(), pause) != nil {
			return nil, req.Context().Err()
		}
	}
	return onlyAfter429(t.next.RoundTrip(req))
}

// retryPauses are the delays between attempts of a read: long enough for a change of the leader
// behind the API server, short enough for a user.
func retryPauses() []time.Duration {
	return []time.Duration{100 * time.Millisecond, 300 * time.Millisecond, 900 * time.Millisecond}
}

// shouldRetry reports whether to retry a read. A request with a body, such as an access review, is
// not retried, because the body has been consumed.
func shouldRetry(req *http.Request, resp *http.Response, err error) bool {
	if req.Body != nil && req.Body != http.NoBody {
		return false
	}
	if err != nil {
		return req.Context().Err() == nil && kindOfNetwork(err) != cloud.Invalid
	}
	switch resp.StatusCode {
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// onlyAfter429 removes the Retry-After header of other errors, so that client-go does not resend a
// request that may have taken effect. Only a 429 guarantees that it did not.
func onlyAfter429(resp *http.Response, err error) (*http.Response, error) {
	if err == nil && resp.StatusCode >= http.StatusInternalServerError {
		resp.Header.Del("Retry-After")
	}
	return resp, err
}

// refuseCall reads an error response and restores its body for the client.
func (t *roundTripper) refuseCall(resp *http.Response, call Call, changing bool) error {
	const most = 1 << 20 // an error is one sentence, but some proxies send a page
	raw, err := io.ReadAll(io.LimitReader(resp.Body, most))
	_ = resp.Body.Close() // the body was read
	if err != nil {
		raw = nil // use the status code only
	}
	resp.Body = io.NopCloser(bytes.NewReader(raw))
	return translateError(call, changing, statusError(resp, call, raw))
}

func (t *roundTripper) traceCall(ctx context.Context, call Call, began time.Time, err error) {
	kind := cloud.Kind("")
	if err != nil {
		kind = cloud.KindOf(err)
	}
	t.log.DebugContext(ctx, "kubernetes call", "call", call.String(), "resource", call.Object(), "took", time.Since(began), "refusal", string(kind))
}

func drainBody(resp *http.Response) {
	if resp == nil {
		return
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16)) // lets the connection be reused
	_ = resp.Body.Close()                                        // the body is discarded
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close() // required by the contract of RoundTripper
	}
}

// body cancels the context of a response when it is closed.
type body struct {
	io.ReadCloser
	free context.CancelFunc
}

func (b *body) Close() error {
	defer b.free()
	return b.ReadCloser.Close()
}

type upgraded struct {
	io.ReadWriteCloser
	free context.CancelFunc
}

func (u *upgraded) Close() error {
	defer u.free()
	return u.ReadWriteCloser.Close()
}

// shutError is an error of the gate, which is returned unchanged.
type shutError struct{ err error }

func (e *shutError) Error() string { return e.err.Error() }
func (e *shutError) Unwrap() error { return e.err }

// Trail records the errors of calls by a library that discards them.
type Trail struct {
	mu   sync.Mutex // guards errs
	errs []error
}

func (t *Trail) addError(err error) {
	if t == nil || err == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.errs = append(t.errs, err)
}

// Last returns the latest error other than NotFound, which libraries handle themselves. Without one
// it returns err.
func (t *Trail) Last(err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range slices.Backward(t.errs) {
		if _, shut := errors.AsType[*shutError](e); shut || cloud.KindOf(e) != cloud.NotFound {
			return e
		}
	}
	return err
}
