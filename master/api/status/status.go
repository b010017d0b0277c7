// Package status defines the errors that the API returns to clients, as a small set of codes, so
// that packages behind the API need not know HTTP.
//
// It imports no package that uses it; everything behind the API may import it.
package status

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/det-deploy/det-deploy/internal/excerpt"
)

// Code is the kind of an error. The numbers are those of gRPC, which clients of Determined 0.38.1
// read.
type Code int

// The codes that the API returns.
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

// codes maps each code to its name and HTTP status.
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

// String returns the name that clients read in "reason".
func (c Code) String() string {
	if row, found := codes[c]; found {
		return row.name
	}
	return fmt.Sprintf("Code(%d)", int(c))
}

// HTTP returns the HTTP status of the code.
func (c Code) HTTP() int {
	if row, found := codes[c]; found {
		return row.http
	}
	return http.StatusInternalServerError
}

// Error is an error whose text may be shown to the client.
type Error struct {
	Code    Code
	Message string
}

// Error returns the text for the client.
func (e *Error) Error() string { return e.Message }

// New returns an error with a text that names the remedy. It truncates the arguments, which may
// have come from the client.
func New(code Code, format string, args ...any) error {
	return &Error{Code: code, Message: excerpt.Format(format, args...)}
}

// Missing returns a NotFound error, in the words that clients look for.
func Missing(kind, id string) error {
	return New(NotFound, "%s '%s' not found", kind, excerpt.Of(id))
}

// Of returns the code of the first Error in err's chain, or Unknown.
func Of(err error) Code {
	if e, found := errors.AsType[*Error](err); found {
		return e.Code
	}
	return Unknown
}
