// Package status says how a request was refused, in the few kinds that clients
// of the API tell apart, so that the code that refuses need not know HTTP.
//
// It is a leaf: everything behind the API may import it.
package status

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/det-deploy/det-deploy/internal/excerpt"
)

// Code is the kind of a refusal. The numbers are those of gRPC, because they are
// part of what clients of Determined 0.38.1 read.
type Code int

// The codes that we answer.
const (
	Unknown            Code = 2
	InvalidArgument    Code = 3
	NotFound           Code = 5
	AlreadyExists      Code = 6
	PermissionDenied   Code = 7
	ResourceExhausted  Code = 8
	FailedPrecondition Code = 9
	Aborted            Code = 10
	Unimplemented      Code = 12
	Internal           Code = 13
	Unavailable        Code = 14
	Unauthenticated    Code = 16
)

// codes is one line a code: how clients spell it and the HTTP status it travels as.
var codes = map[Code]struct {
	name string
	http int
}{
	Unknown:            {"Unknown", http.StatusInternalServerError},
	InvalidArgument:    {"InvalidArgument", http.StatusBadRequest},
	NotFound:           {"NotFound", http.StatusNotFound},
	AlreadyExists:      {"AlreadyExists", http.StatusConflict},
	PermissionDenied:   {"PermissionDenied", http.StatusForbidden},
	ResourceExhausted:  {"ResourceExhausted", http.StatusTooManyRequests},
	FailedPrecondition: {"FailedPrecondition", http.StatusBadRequest},
	Aborted:            {"Aborted", http.StatusConflict},
	Unimplemented:      {"Unimplemented", http.StatusNotImplemented},
	Internal:           {"Internal", http.StatusInternalServerError},
	Unavailable:        {"Unavailable", http.StatusServiceUnavailable},
	Unauthenticated:    {"Unauthenticated", http.StatusUnauthorized},
}

// String is the name that clients read in "reason".
func (c Code) String() string {
	if row, found := codes[c]; found {
		return row.name
	}
	return fmt.Sprintf("Code(%d)", int(c))
}

// HTTP is the status that a refusal of this kind travels as.
func (c Code) HTTP() int {
	if row, found := codes[c]; found {
		return row.http
	}
	return http.StatusInternalServerError
}

// Error is a refusal whose text may be shown to the client.
type Error struct {
	Code    Code
	Message string
}

// Error is the text that the client sees.
func (e *Error) Error() string { return e.Message }

// New refuses with code and a text that tells the client what to do about it. What is
// formatted into it may have come from the client, and is cut.
func New(code Code, format string, args ...any) error {
	return &Error{Code: code, Message: excerpt.Format(format, args...)}
}

// Missing refuses because there is no such thing, in the words that clients look for.
func Missing(kind, id string) error {
	return New(NotFound, "%s '%s' not found", kind, excerpt.Of(id))
}

// Of is the code of err: that of the first Error in its chain, else Unknown.
func Of(err error) Code {
	if e, found := errors.AsType[*Error](err); found {
		return e.Code
	}
	return Unknown
}
