package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/internal/wait"
)

// call is a request.
type call struct {
	// op describes the call in errors, such as "list agents".
	op     string
	method string
	// path is relative to the base address, such as "/api/v1/agents".
	path  string
	query url.Values
	// in is the request body, and out receives the response; either may be nil.
	in, out proto.Message
	// body is the request body instead of in, with the encoding if that is not empty.
	body     []byte
	encoding string
	// offset is the first byte of a file to read.
	offset int64
	// once is set if the call must not be repeated after a lost response.
	once bool
}

const (
	// The pause between attempts grows from firstWait to lastWait.
	firstWait = 100 * time.Millisecond
	lastWait  = 2 * time.Second
	// untold is how long a call is retried before Config.Retrying is called.
	untold = time.Second
)

// do sends k, with retries while the master is unreachable or starting, and decodes the response.
func (t *transport) do(ctx context.Context, k call) error {
	body, err := t.sendWithRetries(ctx, k)
	if err != nil {
		return err
	}
	defer body.Close() //nolint:errcheck // it is read to its end below
	raw, err := io.ReadAll(body)
	if err != nil {
		return t.unreached(ctx, k.op, err)
	}
	if k.out == nil {
		return nil
	}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(raw, k.out); err != nil {
		return &Error{Kind: Internal, Op: k.op, Master: t.URL(), Err: fmt.Errorf("read the reply of %s: %w", t.URL(), err)}
	}
	return nil
}

// sendWithRetries sends k until it is answered or retryFor has passed, and returns the body of the
// response.
func (t *transport) sendWithRetries(ctx context.Context, k call) (io.ReadCloser, error) {
	began, told := time.Now(), t.retrying == nil
	deadline := began.Add(t.retryFor)
	for pause := firstWait; ; pause = min(2*pause, lastWait) {
		body, err := t.send(ctx, k)
		if err == nil || ctx.Err() != nil || !again(k, err) || time.Now().Add(pause).After(deadline) {
			return body, err
		}
		if !told && time.Since(began) > untold {
			told = true
			t.retrying(err)
		}
		if err := wait.For(ctx, pause); err != nil {
			return nil, fmt.Errorf("%s: %w", k.op, err)
		}
	}
}

// again reports whether k may be sent again after err.
func again(k call, err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Kind != Unavailable {
		return false
	}
	// Without a response, or with one from a proxy, the call may have had its effect.
	return !k.once
}

// send sends k once.
func (t *transport) send(ctx context.Context, k call) (io.ReadCloser, error) {
	req, err := t.request(ctx, k)
	if err != nil {
		return nil, err
	}
	resp, err := t.http.Do(req)
	if err != nil {
		return nil, t.unreached(ctx, k.op, cause(err))
	}
	if resp.StatusCode != http.StatusOK && (k.offset == 0 || resp.StatusCode != http.StatusPartialContent) {
		defer resp.Body.Close() //nolint:errcheck // only the response's error matters
		return nil, t.refused(k, resp)
	}
	if k.offset > 0 && resp.StatusCode == http.StatusOK { // the whole file
		if _, err := io.CopyN(io.Discard, resp.Body, k.offset); err != nil {
			return nil, errors.Join(t.unreached(ctx, k.op, err), resp.Body.Close())
		}
	}
	return resp.Body, nil
}

// request returns the request of a call.
func (t *transport) request(ctx context.Context, k call) (*http.Request, error) {
	if err := t.checkPath(k); err != nil {
		return nil, err
	}
	var body io.Reader
	if k.in != nil {
		raw, err := protojson.Marshal(k.in)
		if err != nil {
			return nil, fmt.Errorf("%s: write the request: %w", k.op, err)
		}
		body = bytes.NewReader(raw)
	}
	if k.body != nil {
		body = bytes.NewReader(k.body)
	}
	u := t.base.JoinPath(k.path)
	u.RawQuery = k.query.Encode()
	req, err := http.NewRequestWithContext(ctx, k.method, u.String(), body)
	if err != nil {
		return nil, fmt.Errorf("%s: write the request: %w", k.op, err)
	}
	if k.in != nil || k.encoding != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if k.encoding != "" {
		req.Header.Set("Content-Encoding", k.encoding)
	}
	if k.offset > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", k.offset))
	}
	if t.token != "" {
		req.Header.Set("Authorization", "Bearer "+t.token)
	}
	return req, nil
}

// servicePath is the path of services, whose own paths end with a slash.
const servicePath = "/proxy/"

// checkPath returns an error if an ID or a name in the path leads to another call: a segment that is empty or
// consists of dots stays so when it is escaped.
func (t *transport) checkPath(k call) error {
	p := k.path
	if strings.HasPrefix(p, servicePath) {
		p = strings.TrimSuffix(p, "/")
	}
	if path.Clean(p) == p {
		return nil
	}
	return &Error{Kind: Invalid, Op: k.op, Master: t.URL(), Message: `no ID or name is empty, "." or ".."`}
}

// cause removes the method and URL that the HTTP client adds to errors, because ours contain both.
func cause(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}
