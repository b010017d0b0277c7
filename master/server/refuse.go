package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
)

// sizeError reports a body that is too large. It has its own HTTP status because no gRPC code, which
// clients read, corresponds to it.
type sizeError struct{ limit int64 }

// Error implements error. It names the limit.
func (e *sizeError) Error() string {
	return fmt.Sprintf("the request body is larger than %d bytes; send smaller requests", e.limit)
}

// kinds maps errors of other packages to codes.
var kinds = []struct {
	err  error
	code status.Code
}{
	{rm.ErrUnknownJob, status.NotFound},
	{rm.ErrUnknownPool, status.NotFound},
	{rm.ErrUnknownAgent, status.NotFound},
	{rm.ErrUnknownSlot, status.NotFound},
	{store.ErrUnavailable, status.Unavailable},
	{store.ErrFull, status.Unavailable},
	{store.ErrOutcomeUnknown, status.Unavailable},
	{store.ErrFenced, status.Unavailable},
	{store.ErrClosed, status.Unavailable},
	{context.DeadlineExceeded, status.Unavailable},
	{context.Canceled, status.Unavailable},
}

// codeOf returns the code of err for clients.
func codeOf(err error) status.Code {
	if _, found := errors.AsType[*status.Error](err); found {
		return status.Of(err)
	}
	if _, found := errors.AsType[*rm.Unfulfillable](err); found {
		return status.InvalidArgument
	}
	if _, found := errors.AsType[*sizeError](err); found {
		return status.InvalidArgument
	}
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			return k.code
		}
	}
	return status.Internal
}

func httpOf(err error) int {
	if _, found := errors.AsType[*sizeError](err); found {
		return http.StatusRequestEntityTooLarge
	}
	return codeOf(err).HTTP()
}

type apiError struct {
	Error struct {
		Code   status.Code `json:"code"`
		Reason string      `json:"reason"`
		Error  string      `json:"error"`
	} `json:"error"`
}

// refuseCall responds with err in the format of the API.
func (g *gatekeeper) refuseCall(c *call, err error, streams bool) {
	g.logFailure(c, err)
	if wait, found := retryAfter[httpOf(err)]; found {
		c.w.Header().Set("Retry-After", wait)
	}
	var b []byte
	if streams {
		b = append(streamError(err), '\n')
	} else {
		var e apiError
		e.Error.Code, e.Error.Reason, e.Error.Error = codeOf(err), codeOf(err).String(), excerpt.Message(err.Error())
		b, _ = json.Marshal(e) // strings and numbers can always be encoded
	}
	writeJSON(c.w, httpOf(err), b)
}

// retryAfter holds the values of the Retry-After header in seconds: until resources are likely to be free,
// or until another login attempt is allowed.
var retryAfter = map[int]string{http.StatusServiceUnavailable: "5", http.StatusTooManyRequests: "6"}

// serveCall serves a call. A panic is logged with its stack and becomes an error of this call. The
// standard library would close the connection, which clients report as an unavailable master.
func (s *shared) serveCall(r route, c *call) (err error) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if p == http.ErrAbortHandler { //nolint:errorlint // it is compared as the standard library does
			panic(p)
		}
		s.cfg.Log.Error("request panicked", "method", excerpt.Of(c.Method), "path", excerpt.Of(c.URL.Path), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		err = errors.New("internal error; see the master's log")
	}()
	return r.serve(c)
}

// logFailure logs errors that the client did not cause.
func (s *shared) logFailure(c *call, err error) {
	if codeOf(err).HTTP() == http.StatusInternalServerError {
		s.cfg.Log.Error("request failed with an internal error",
			"method", excerpt.Of(c.Method), "path", excerpt.Of(c.URL.Path), "err", err)
	}
}

// streamError formats an error as a line of a stream.
func streamError(err error) []byte {
	type body struct {
		GRPC    status.Code `json:"grpc_code"`
		HTTP    int         `json:"http_code"`
		Message string      `json:"message"`
		Status  string      `json:"http_status"`
	}
	code := httpOf(err)
	b, _ := json.Marshal(map[string]body{ // strings and numbers can always be encoded
		"error": {codeOf(err), code, excerpt.Message(err.Error()), http.StatusText(code)},
	})
	return b
}

// plainError responds with an error outside of the API.
func plainError(w http.ResponseWriter, code int, text string) {
	b, _ := json.Marshal(map[string]string{"message": text}) // strings can always be encoded
	writeJSON(w, code, b)
}
