package client

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Kind says why a call did not do what it was to do. Callers branch on kinds.
type Kind string

// The kinds of refusal.
const (
	// Unauthenticated means that there is no token, or it is no longer good.
	Unauthenticated Kind = "unauthenticated"
	// Forbidden means that the user may not do this.
	Forbidden Kind = "forbidden"
	// NotFound means that there is no such thing.
	NotFound Kind = "not-found"
	// Invalid means that the request is wrong and will stay wrong.
	Invalid Kind = "invalid"
	// Conflict means that it exists already, or changed meanwhile.
	Conflict Kind = "conflict"
	// TooMany means that the master asks for fewer calls.
	TooMany Kind = "too-many"
	// Unbuilt means that this master does not have the call.
	Unbuilt Kind = "unimplemented"
	// Unavailable means that the master is starting, out of order or out of reach.
	Unavailable Kind = "unavailable"
	// Untrusted means that the master's certificate is not one to trust.
	Untrusted Kind = "untrusted"
	// Internal means that the master went wrong.
	Internal Kind = "internal"
)

// kinds is the HTTP status of each refusal.
var kinds = map[int]Kind{
	http.StatusBadRequest:            Invalid,
	http.StatusRequestEntityTooLarge: Invalid,
	http.StatusUnauthorized:          Unauthenticated,
	http.StatusForbidden:             Forbidden,
	http.StatusNotFound:              NotFound,
	http.StatusMethodNotAllowed:      Unbuilt,
	http.StatusConflict:              Conflict,
	http.StatusTooManyRequests:       TooMany,
	http.StatusNotImplemented:        Unbuilt,
	http.StatusBadGateway:            Unavailable,
	http.StatusServiceUnavailable:    Unavailable,
	http.StatusGatewayTimeout:        Unavailable,
}

// Error is a call that did not do what it was to do.
type Error struct {
	Kind Kind
	// Op is the call in words: "launch command".
	Op string
	// Master is whom it was sent to.
	Master string
	// Message is the master's own text, empty where it gave none.
	Message string
	// See is the command that lists what could have been meant.
	See string
	// Err is the cause where the master did not answer.
	Err error
}

// Error reads as a path: what was tried, and the master's words.
func (e *Error) Error() string {
	switch {
	case e.Err != nil && e.Kind == Unavailable:
		return fmt.Sprintf("%s: master %s does not answer: %v", e.Op, e.Master, e.Err)
	case e.Err != nil:
		return fmt.Sprintf("%s: %v", e.Op, e.Err)
	case e.Message == "":
		return fmt.Sprintf("%s: master %s: %s", e.Op, e.Master, e.Kind)
	default:
		return e.Op + ": " + e.Message
	}
}

// Unwrap gives the cause to errors.Is and errors.As.
func (e *Error) Unwrap() error { return e.Err }

// Hint is what to do next.
func (e *Error) Hint() string {
	switch e.Kind {
	case NotFound:
		return e.See
	case Unauthenticated:
		return "det-deploy login USER"
	case Forbidden:
		return "ask an admin of the cluster, or log in as one: det-deploy login admin"
	case Unavailable:
		return "check that the master runs and that --master, DET_MASTER or the context names it: det-deploy context show"
	case Untrusted:
		return "log in again and compare the fingerprint, or name the authority: det-deploy login USER --ca-file FILE"
	case Unbuilt:
		return "compare the versions: det-deploy version; det-deploy master info"
	default:
		return ""
	}
}

// Denied reports whether the master knows what was asked and refuses it to the
// caller.
func (e *Error) Denied() bool { return e.Kind == Unauthenticated || e.Kind == Forbidden }

// KindOf returns the kind of the refusal in err, empty when there is none.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return ""
}

// refused reads a reply that is not 200. The master's own errors and those of a
// proxy before it have different forms.
func (t *transport) refused(k call, r *http.Response) *Error {
	e := &Error{Kind: kinds[r.StatusCode], Op: k.op, Master: t.URL(), See: k.see()}
	if e.Kind == "" {
		e.Kind = Internal
	}
	raw, err := io.ReadAll(io.LimitReader(r.Body, 64<<10)) // no message of ours is longer
	if err != nil {
		return e
	}
	e.Message = message(raw)
	if e.Message == "" {
		e.Message = "master " + t.URL() + " answers " + r.Status
	}
	return e
}

// lists is the command that lists what stands below each path of the API.
var lists = map[string]string{
	"commands":   "det-deploy task list --all",
	"tasks":      "det-deploy task list --all",
	"agents":     "det-deploy agent list",
	"users":      "det-deploy user list --all",
	"job-queues": "det-deploy job list",
}

// see names the command that lists what the call could have been about.
func (k call) see() string {
	noun, _, _ := strings.Cut(strings.TrimPrefix(k.path, "/api/v1/"), "/")
	return lists[noun]
}

// message finds the text in the body of a refusal.
func message(raw []byte) string {
	var body struct {
		Message string `json:"message"`
		Error   struct {
			Error   string `json:"error"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(raw, &body) != nil {
		return ""
	}
	for _, s := range []string{body.Error.Error, body.Error.Message, body.Message} {
		if s != "" {
			return strings.TrimSpace(s)
		}
	}
	return ""
}

// unreached explains why no reply came. A call that its caller ended tells nothing of
// the master.
func (t *transport) unreached(ctx context.Context, op string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", op, ctx.Err())
	}
	e := &Error{Kind: Unavailable, Op: op, Master: t.URL(), Err: err}
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	_, name := errors.AsType[x509.HostnameError](err)
	_, invalid := errors.AsType[x509.CertificateInvalidError](err)
	if unknown || name || invalid || errors.Is(err, ErrFingerprint) {
		e.Kind = Untrusted
	}
	return e
}
