package edge

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/det-deploy/det-deploy/cloud"
)

// Answer is how a call failed, whatever the SDK: what the service said, or what
// became of the request where it said nothing.
type Answer struct {
	// Code is the service's own, or empty where it gave none.
	Code string
	// Message is the service's own, or what the SDK says where there is no code.
	Message string
	// Status is the HTTP status, or 0 where there was no answer.
	Status int
	// Transport counts where there was no answer.
	Transport Transport
	// Err is the SDK's error.
	Err error
}

// refusal is an answer as a person reads it: "You have requested more vCPU
// capacity than your limit (VcpuLimitExceeded)".
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
		r.text = fmt.Sprintf("answered %d %s, and the answer cannot be read: %s", a.Status, http.StatusText(a.Status), a.Message)
	case a.Status != 0:
		r.text = fmt.Sprintf("answered %d %s with something that does not belong to its API", a.Status, http.StatusText(a.Status))
	default:
		r.text = a.Message
	}
	return r
}

// CodeOf is the service's own code of a refusal, or our kind where it gave none.
func CodeOf(err error) string {
	if r, ok := errors.AsType[*refusal](err); ok && r.code != "" {
		return r.code
	}
	return string(cloud.KindOf(err))
}
