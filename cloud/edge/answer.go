package edge

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/det-deploy/det-deploy/cloud"
)

// Answer describes a failed call independently of the SDK: the error response of the service, or
// the failure of the request if there was no response.
type Answer struct {
	// Code is the service's error code, or empty if the response had none.
	Code string
	// Message is the service's error message, or the SDK's error text if there is no code.
	Message string
	// Status is the HTTP status, or 0 if there was no response.
	Status int
	// Transport is the failure of a request without a response.
	Transport Transport
	// Fix is advice that follows from the error itself. If it is empty, the rules have the advice.
	Fix string
	// Err is the error returned by the SDK.
	Err error
}

// refusal formats a service's error for users: "You have requested more vCPU capacity than your
// limit (VcpuLimitExceeded)".
type refusal struct {
	code, text string
	err        error
}

func (r *refusal) Error() string { return r.text }
func (r *refusal) Unwrap() error { return r.err }

func (a Answer) toRefusal() *refusal {
	r := &refusal{code: a.Code, err: a.Err}
	switch {
	case a.Code != "" && a.Message != "":
		r.text = a.Message + " (" + a.Code + ")"
	case a.Code != "":
		r.text = a.Code
	case a.Status/100 == http.StatusOK/100:
		r.text = fmt.Sprintf("HTTP status %d %s with an unreadable response: %s", a.Status, http.StatusText(a.Status), a.Message)
	case a.Status != 0:
		r.text = fmt.Sprintf("HTTP status %d %s with a response that is not from the API", a.Status, http.StatusText(a.Status))
	default:
		r.text = a.Message
	}
	return r
}

// CodeOf returns the service's error code, or the kind of the error if the service returned no
// code.
func CodeOf(err error) string {
	if r, ok := errors.AsType[*refusal](err); ok && r.code != "" {
		return r.code
	}
	return string(cloud.KindOf(err))
}
