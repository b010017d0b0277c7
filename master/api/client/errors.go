package client

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
)

// Kind is the kind of a failed call. Callers branch on it.
type Kind string

// The kinds of failures.
const (
	// Unauthenticated means that the token is missing or no longer valid.
	Unauthenticated Kind = "unauthenticated"
	// Forbidden means that the user lacks the permission.
	Forbidden Kind = "forbidden"
	// NotFound means that the object does not exist.
	NotFound Kind = "not-found"
	// Invalid means that the request is wrong and will fail again.
	Invalid Kind = "invalid"
	// Conflict means that the object exists already or has changed meanwhile.
	Conflict Kind = "conflict"
	// TooMany means that the master limits the rate of calls.
	TooMany Kind = "too-many"
	// Unbuilt means that this master does not implement the call.
	Unbuilt Kind = "unimplemented"
	// Unavailable means that the master is starting, failing or unreachable.
	Unavailable Kind = "unavailable"
	// Untrusted means that the master's certificate is not trusted.
	Untrusted Kind = "untrusted"
	// Internal means that the master failed.
	Internal Kind = "internal"
)

// kinds maps HTTP status codes to kinds.
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

// Error reports a failed call.
type Error struct {
	Kind Kind
	// Op describes the call, such as "launch command".
	Op string
	// Master is the master's address.
	Master string
	// Cluster is the ID by which `det-deploy status` finds the master's cluster, or "".
	Cluster string
	// Message is the master's error message, or "".
	Message string
	// See is the command that lists the valid objects.
	See string
	// Err is the cause if the master did not answer.
	Err error
}

// Error returns the operation and the master's message.
func (e *Error) Error() string {
	switch {
	case e.Err != nil && e.Kind == Unavailable:
		return fmt.Sprintf("%s: master %s does not answer: %v", e.Op, e.Master, networkReason(e.Err))
	case e.Err != nil:
		return fmt.Sprintf("%s: %v", e.Op, e.Err)
	case e.Message == "":
		return fmt.Sprintf("%s: master %s: %s", e.Op, e.Master, e.Kind)
	default:
		return e.Op + ": " + e.Message
	}
}

// networkReason returns why a connection failed, without the steps of Go's network packages.
func networkReason(err error) string {
	if d, ok := errors.AsType[*net.DNSError](err); ok && d.IsNotFound {
		return "the name " + d.Name + " has no address"
	}
	if n, ok := errors.AsType[syscall.Errno](err); ok {
		return n.Error()
	}
	if errors.Is(err, http.ErrSchemeMismatch) {
		return "it has no TLS, so its address begins with http://"
	}
	return err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Hint returns the next step for the user.
func (e *Error) Hint() string {
	switch e.Kind {
	case NotFound:
		return e.See
	case Unauthenticated:
		return "det-deploy login USER"
	case Forbidden:
		return "ask an administrator of the cluster, or log in as one: det-deploy login admin"
	case Unavailable:
		if e.Cluster != "" {
			return "see whether the cluster is up: det-deploy status --cluster-id " + e.Cluster
		}
		return "check that the master runs and that --master, DET_MASTER or the context names it: det-deploy context show"
	case Untrusted:
		return "log in again and compare the fingerprint, or name the authority: det-deploy login USER --ca-file FILE"
	case Unbuilt:
		return "compare the versions: det-deploy version; det-deploy master info"
	default:
		return ""
	}
}

// Denied reports whether the call failed for lack of authentication or permission.
func (e *Error) Denied() bool { return e.Kind == Unauthenticated || e.Kind == Forbidden }

// KindOf returns the kind of the Error in err, or "" if err contains none.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return ""
}

// refused converts a response other than 200. The master's errors and those of a proxy have
// different formats.
func (t *transport) refused(k call, r *http.Response) *Error {
	e := &Error{Kind: kinds[r.StatusCode], Op: k.op, Master: t.URL(), See: k.see()}
	if e.Kind == "" {
		e.Kind = Internal
	}
	raw, err := io.ReadAll(io.LimitReader(r.Body, 64<<10)) // longer than any message of the master
	if err != nil {
		return e
	}
	e.Message = message(raw)
	if e.Message == "" {
		e.Message = "master " + t.URL() + " returned " + r.Status
	}
	return e
}

// lists maps API paths to the command that lists their objects.
var lists = map[string]string{
	"commands":       "det-deploy task list --all",
	"tasks":          "det-deploy task list --all",
	"experiments":    "det-deploy experiment list --all",
	"trials":         "det-deploy trial list EXPERIMENT",
	"checkpoints":    "det-deploy checkpoint list",
	"models":         "det-deploy model list",
	"agents":         "det-deploy agent list",
	"users":          "det-deploy user list --all",
	"job-queues":     "det-deploy job list",
	"resource-pools": "det-deploy pool list",
	"templates":      "det-deploy template list",
	"services":       "det-deploy task list --all",
	"task-arrays":    "det-deploy task list --all",
}

// see returns the command that lists the objects of the call.
func (k call) see() string {
	noun, rest, _ := strings.Cut(strings.TrimPrefix(k.path, "/api/v1/"), "/")
	if noun == "users" && strings.Contains(rest, "/sessions/") {
		return "det-deploy user sessions list"
	}
	return lists[noun]
}

// message returns the text in the body of an error response.
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

// unreached converts an error without a response. If the caller cancelled the call, that does not
// concern the master.
func (t *transport) unreached(ctx context.Context, op string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", op, ctx.Err())
	}
	e := &Error{Kind: Unavailable, Op: op, Master: t.URL(), Cluster: t.cluster, Err: err}
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	_, name := errors.AsType[x509.HostnameError](err)
	_, invalid := errors.AsType[x509.CertificateInvalidError](err)
	if unknown || name || invalid || errors.Is(err, ErrFingerprint) {
		e.Kind = Untrusted
	}
	return e
}
