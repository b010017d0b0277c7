package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
	"google.golang.org/api/googleapi"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/edge"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// transport handles every request of the service clients:
//
//	service ─▶ transport: gate, request ID, attempts, errors ─▶ credentials ─▶ network
//
// The service clients do not retry. An error response of Google is returned as an error of the
// transport.
type transport struct {
	next http.RoundTripper
	// project is named in hints for calls without a project, such as those on buckets.
	project string
	// gate is passed before every modifying call. Nil permits all calls.
	gate  *resource.Gate
	log   *slog.Logger
	rows  []row
	table edge.Table
}

// userAgent identifies the client in Google's audit logs.
const userAgent = "det-deploy"

// call is one call with all its attempts.
type call struct {
	row

	table edge.Table
	// project is the project named in hints.
	project string
	// id is the request ID, the same for all attempts.
	id string
}

// RoundTrip makes a call and retries it if it had no effect.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	began, out := time.Now(), outcomeOf(r.Context())
	c, err := t.callOf(r)
	if err != nil {
		closeBody(r)
		return nil, err
	}
	res, n, err := t.attempt(r, c)
	out.call, out.err = c, err
	refusal := ""
	if err != nil {
		refusal = edge.CodeOf(err)
	}
	t.log.DebugContext(r.Context(), "gcp call", "call", c.Op, "took", time.Since(began), "attempts", n, "refusal", refusal)
	return res, err
}

// callOf returns the call of a request. It returns an error if the call is not in the table.
func (t *transport) callOf(r *http.Request) (*call, error) {
	found, ok := find(t.rows, r)
	if !ok {
		return nil, &cloud.Error{Kind: cloud.Invalid, Op: r.Method + " " + r.URL.Path, Err: errors.New("the call is not in the table of calls")}
	}
	found.Repeatable = found.Repeatable && !isConditional(r)
	return &call{row: found, table: t.table, project: cmp.Or(projectIn(r.URL.Path), t.project), id: uuid.NewString()}, nil
}

// projectIn returns the project in a path such as "/v3/projects/vision-lab:getIamPolicy".
func projectIn(path string) string {
	_, rest, _ := strings.Cut(path, "/projects/")
	project, _, _ := strings.Cut(rest, "/")
	project, _, _ = strings.Cut(project, ":")
	return project
}

// attempt makes attempts until one succeeds or no retry is permitted. It returns their number.
func (t *transport) attempt(r *http.Request, c *call) (res *http.Response, n int, err error) {
	retries := newRetrier()
	for n = 1; ; n++ {
		res, err = t.send(r, c, n)
		if err == nil || !canRepeat(r) {
			return res, n, err
		}
		again, stopped := retries.awaitNext(r.Context(), c.row, err)
		if stopped != nil {
			return nil, n, errors.Join(err, stopped)
		}
		if !again {
			return res, n, err
		}
	}
}

// canRepeat reports whether the body of a request can be sent again.
func canRepeat(r *http.Request) bool {
	return r.Body == nil || r.Body == http.NoBody || r.GetBody != nil
}

// send makes the n-th attempt. It checks the gate each time, because the lease may be lost while a
// retry waits.
func (t *transport) send(r *http.Request, c *call, n int) (*http.Response, error) {
	if err := t.admit(r.Context(), c); err != nil {
		closeBody(r)
		return nil, err
	}
	numbered, err := c.number(r, n)
	if err != nil {
		return nil, c.translateError(err)
	}
	res, err := t.next.RoundTrip(numbered)
	switch {
	case err == nil:
		err = readAnswer(numbered, res)
	case r.Context().Err() != nil:
		err = r.Context().Err()
	default: // like http.Client
		err = &url.Error{Op: r.Method[:1] + strings.ToLower(r.Method[1:]), URL: r.URL.String(), Err: err}
	}
	if err != nil {
		return nil, c.translateError(err)
	}
	return res, nil
}

func (t *transport) admit(ctx context.Context, c *call) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", c.Op, err)
	}
	if !c.Changes || t.gate == nil {
		return nil
	}
	return t.gate.Pass(ctx, c.Op)
}

// number returns a copy of the request with the call's ID and the attempt number, in the headers of
// Google's own libraries, and a fresh body.
func (c *call) number(r *http.Request, n int) (*http.Request, error) {
	out := r.Clone(r.Context())
	out.Header.Set("User-Agent", strings.TrimSpace(r.Header.Get("User-Agent")+" "+userAgent))
	number := fmt.Sprintf("gccl-invocation-id/%s gccl-attempt-count/%d", c.id, n)
	out.Header.Set("X-Goog-Api-Client", strings.TrimSpace(number+" "+r.Header.Get("X-Goog-Api-Client")))
	out.Header.Set("X-Goog-Gcs-Idempotency-Token", c.id)
	if c.takesRequestID() {
		q := out.URL.Query()
		q.Set("requestId", c.id)
		out.URL.RawQuery = q.Encode()
	}
	if n == 1 || r.GetBody == nil {
		return out, nil
	}
	var err error
	out.Body, err = r.GetBody()
	return out, err
}

// smallObject is the size up to which an object is read to memory, like other responses.
const smallObject = 1 << 20

// readAnswer returns the error in a response. It reads all responses except large objects, so that
// a truncated response counts as lost and is retried.
func readAnswer(r *http.Request, res *http.Response) error {
	isMedia := r.URL.Query().Get("alt") == "media"
	switch {
	case res.StatusCode >= http.StatusBadRequest:
		defer func() { _ = res.Body.Close() }() // it was read to the end
		return googleapi.CheckResponse(res)
	case res.StatusCode >= http.StatusMultipleChoices: // not modified, or a redirect
		return nil
	case isMedia && (res.ContentLength < 0 || res.ContentLength > smallObject):
		return nil
	}
	text, err := io.ReadAll(res.Body)
	_ = res.Body.Close() // it was read to the end
	if err == nil && !isMedia && len(text) > 0 && !json.Valid(text) {
		err = errors.New("the response is not JSON")
	}
	res.Body = io.NopCloser(bytes.NewReader(text))
	return err
}

func closeBody(r *http.Request) {
	if r.Body != nil {
		_ = r.Body.Close() // nothing was read
	}
}
