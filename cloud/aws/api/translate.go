package api

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/det-deploy/det-deploy/cloud"
)

// translate turns what the SDK returned for a call into our own words. Changing
// says whether the call may have changed something.
func translate(op string, changing bool, err error) error {
	if err == nil {
		return nil
	}
	if shut, ok := errors.AsType[*shutError](err); ok {
		return shut.err
	}
	kind := kindOf(changing, err)
	if !changing && ended(err) {
		return fmt.Errorf("%s: %w", op, err)
	}
	a := read(err)
	if a.code == "DryRunOperation" {
		return &cloud.Error{Kind: kind, Op: op, Err: errAllowed}
	}
	return &cloud.Error{Kind: kind, Op: op, Fix: fixOf(op, kind, err), Err: a}
}

// kindOf says what kind of refusal err is.
//
//	answered by the service       the table; out of order and changing: ambiguous
//	answered with something else  by the HTTP status
//	never connected               unavailable: nothing was sent
//	sent, no answer               ambiguous when changing, else unavailable
func kindOf(changing bool, err error) cloud.Kind {
	kind, answered := verdict(err)
	switch {
	case answered && kind == cloud.Unavailable && changing:
		return cloud.Ambiguous
	case answered:
		return kind
	case unsigned(err):
		return cloud.Denied
	case malformed(err):
		return cloud.Invalid
	case unconnected(err):
		return cloud.Unavailable
	case changing:
		return cloud.Ambiguous
	case lost(err):
		return cloud.Unavailable
	}
	return cloud.Unknown
}

// verdict is what the service said. Answered is false when it said nothing.
func verdict(err error) (kind cloud.Kind, answered bool) {
	status := statusOf(err)
	if e, ok := errors.AsType[smithy.APIError](err); ok {
		if r, ok := ruleOf(e.ErrorCode(), e.ErrorMessage()); ok {
			return r.kind, true
		}
		if status == 0 {
			return cloud.Unknown, true
		}
	}
	switch {
	case status >= 500:
		return cloud.Unavailable, true
	case status == http.StatusTooManyRequests:
		return cloud.RateLimited, true
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return cloud.Denied, true
	case status == http.StatusNotFound:
		return cloud.NotFound, true
	case status == http.StatusConflict || status == http.StatusPreconditionFailed:
		return cloud.Conflict, true
	case status >= 400:
		return cloud.Invalid, true
	}
	return cloud.Unknown, false
}

func statusOf(err error) int {
	if e, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		return e.HTTPStatusCode()
	}
	return 0
}

// unsigned reports that the call never left for want of credentials.
func unsigned(err error) bool {
	_, ok := errors.AsType[*purseError](err)
	return ok
}

// malformed reports that the SDK found the request wrong before sending it.
func malformed(err error) bool {
	_, params := errors.AsType[smithy.InvalidParamsError](err)
	_, serial := errors.AsType[*smithy.SerializationError](err)
	return params || serial
}

// unconnected reports that no connection was made, so that nothing was sent.
func unconnected(err error) bool {
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// lost reports that the connection ended before there was an answer.
func lost(err error) bool {
	_, ok := errors.AsType[*smithyhttp.RequestSendError](err)
	return ok
}

// ended reports that the caller itself gave up.
func ended(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// answer is a refusal as a person reads it: "You have requested more vCPU
// capacity than your limit (VcpuLimitExceeded)".
type answer struct {
	code, text string
	err        error
}

func (a *answer) Error() string { return a.text }
func (a *answer) Unwrap() error { return a.err }

func read(err error) *answer {
	a := &answer{err: err}
	e, ok := errors.AsType[smithy.APIError](err)
	switch {
	case ok && e.ErrorCode() != "UnknownError" && e.ErrorMessage() != "":
		a.code, a.text = e.ErrorCode(), legible(e.ErrorMessage())+" ("+e.ErrorCode()+")"
	case ok && e.ErrorCode() != "UnknownError":
		a.code, a.text = e.ErrorCode(), e.ErrorCode()
	case statusOf(err) != 0:
		a.text = fmt.Sprintf("answered %d %s with something that does not belong to its API", statusOf(err), http.StatusText(statusOf(err)))
	default:
		a.text = plain(err).Error()
	}
	return a
}

// legible leaves out what only `sts decode-authorization-message` can read.
func legible(message string) string {
	text, _, _ := strings.Cut(message, " Encoded authorization failure message:")
	return strings.TrimSuffix(strings.TrimSpace(text), ".")
}

// plain leaves out the layers of the SDK that say nothing to a person.
func plain(err error) error {
	if e, ok := errors.AsType[*smithyhttp.RequestSendError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*purseError](err); ok {
		return e
	}
	if e, ok := errors.AsType[*finalError](err); ok {
		return e.err
	}
	return err
}

// codeOf is the service's own code, or our kind where it gave none.
func codeOf(err error) string {
	if a, ok := errors.AsType[*answer](err); ok && a.code != "" {
		return a.code
	}
	return string(cloud.KindOf(err))
}
