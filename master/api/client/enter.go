package client

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"

	streaming "github.com/det-deploy/det-deploy/internal/stream"
	"github.com/det-deploy/det-deploy/internal/stream/frames"
)

// entries are streams into running tasks. They are opened once: a repeated program could run twice.
type entries struct{ *transport }

// Process is a process of a task, which is entered.
type Process struct {
	Task string
	Rank int
}

// Exec starts a program in the container of a process. The caller closes it; it ends with ctx.
func (e entries) Exec(ctx context.Context, in Process, p streaming.Program) (streaming.Process, error) {
	k := in.call("run a program in task "+in.Task, http.MethodGet, "exec", nil)
	ws, err := e.open(ctx, k)
	if err != nil {
		return nil, err
	}
	first, err := json.Marshal(p)
	if err == nil {
		err = ws.Write(ctx, websocket.MessageText, first)
	}
	if err != nil {
		_ = ws.CloseNow() // err is the reason
		return nil, e.unreached(ctx, k.op, err)
	}
	return frames.Open(ctx, ws), nil
}

// DialPort connects to a port of a process at loopback. The connection ends with ctx.
func (e entries) DialPort(ctx context.Context, in Process, port int) (*frames.Conn, error) {
	ws, err := e.open(ctx, in.call(fmt.Sprintf("connect to port %d of task %s", port, in.Task), http.MethodGet, "port", url.Values{"port": {strconv.Itoa(port)}}))
	if err != nil {
		return nil, err
	}
	return frames.NewConn(ctx, ws), nil
}

// ReadFiles returns a file or a directory of a process as a tar archive. An archive that is not complete
// ends with an error. The caller closes it.
func (e entries) ReadFiles(ctx context.Context, in Process, path string) (io.ReadCloser, error) {
	k := in.call("read "+path+" of task "+in.Task, http.MethodGet, "files", url.Values{"path": {path}})
	resp, err := e.exchange(ctx, k, nil) //nolint:bodyclose // the caller closes it
	if err != nil {
		return nil, err
	}
	return &archive{resp, k.op}, nil
}

// WriteFiles unpacks a tar archive into a directory of a process.
func (e entries) WriteFiles(ctx context.Context, in Process, dir string, from io.Reader) error {
	resp, err := e.exchange(ctx, in.call("write to "+dir+" of task "+in.Task, http.MethodPut, "files", url.Values{"path": {dir}}), from)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func (in Process) call(op, method, what string, query url.Values) call {
	if query == nil {
		query = url.Values{}
	}
	query.Set("rank", strconv.Itoa(in.Rank))
	return call{op: op, method: method, path: "/api/v1/tasks/" + url.PathEscape(in.Task) + "/" + what, query: query}
}

// open opens a websocket.
func (e entries) open(ctx context.Context, k call) (*websocket.Conn, error) {
	req, err := e.request(ctx, k)
	if err != nil {
		return nil, err
	}
	at := "ws" + strings.TrimPrefix(req.URL.String(), "http")
	ws, resp, err := websocket.Dial(ctx, at, &websocket.DialOptions{ //nolint:bodyclose // it is in memory, or the websocket
		HTTPClient: &http.Client{Transport: e.firstVersion()}, HTTPHeader: req.Header,
	})
	switch {
	case err == nil:
		return ws, nil
	case resp != nil && resp.StatusCode != http.StatusSwitchingProtocols:
		return nil, e.refused(k, resp)
	}
	return nil, e.unreached(ctx, k.op, cause(err))
}

// firstVersion returns the transport without HTTP/2, in which a connection cannot become a websocket.
func (t *transport) firstVersion() http.RoundTripper {
	own, ok := t.http.Transport.(*http.Transport)
	if !ok {
		return t.http.Transport
	}
	own = own.Clone()
	own.ForceAttemptHTTP2, own.DisableKeepAlives = false, true
	own.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	if own.TLSClientConfig != nil {
		own.TLSClientConfig.NextProtos = nil
	}
	return own
}

// permitTime is the time for the master to accept or refuse a body before it is sent.
const permitTime = 40 * time.Second

// exchange sends a request with a body of any length once.
func (e entries) exchange(ctx context.Context, k call, body io.Reader) (*http.Response, error) {
	req, err := e.request(ctx, k)
	if err != nil {
		return nil, err
	}
	to := e.http.Transport
	if body != nil {
		req.Body = io.NopCloser(body)
		req.Header.Set("Expect", "100-continue")
		if own, ok := e.firstVersion().(*http.Transport); ok {
			own.ExpectContinueTimeout, own.ResponseHeaderTimeout = permitTime, 0
			to = own
		}
	}
	resp, err := (&http.Client{Transport: to}).Do(req)
	if err != nil {
		return nil, e.unreached(ctx, k.op, cause(err))
	}
	if resp.StatusCode != http.StatusOK {
		defer func() { _ = resp.Body.Close() }()
		return nil, e.refused(k, resp)
	}
	return resp, nil
}

// archive is the body of a response whose trailer says whether it is complete.
type archive struct {
	resp *http.Response
	op   string
}

// Read implements io.Reader.
func (a *archive) Read(b []byte) (int, error) {
	n, err := a.resp.Body.Read(b)
	if err == nil || a.resp.Request.Context().Err() != nil {
		return n, err
	}
	switch result := a.resp.Trailer.Get("Det-Deploy-Result"); result {
	case "complete":
		return n, err
	case "":
		return n, fmt.Errorf("%s: the connection to the master was lost before the end; copy again", a.op)
	default:
		return n, fmt.Errorf("%s: %s", a.op, result)
	}
}

// Close implements io.Closer.
func (a *archive) Close() error { return a.resp.Body.Close() }
