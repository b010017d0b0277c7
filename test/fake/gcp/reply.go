package gcptest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
)

// reply is a response before it is sent.
type reply struct {
	status int
	header http.Header
	body   []byte
	json   bool
}

// media is a response with a body other than JSON.
type media struct {
	status int
	header http.Header
	body   []byte
}

// refusal is the error response of a service.
type refusal struct {
	status  int
	reason  string // "notFound", in the older services
	code    string // "NOT_FOUND", in the newer services
	message string
	details []any
}

func (r *refusal) Error() string { return r.reason + ": " + r.message }

// refuse returns an error in the form of the older services. The code of the newer services is
// derived from the status.
func refuse(status int, reason, format string, args ...any) *refusal {
	return &refusal{status: status, reason: reason, code: codeOfStatus(status), message: fmt.Sprintf(format, args...)}
}

// codeOfStatus returns Google's error code for an HTTP status.
// https://cloud.google.com/apis/design/errors#handling_errors
func codeOfStatus(status int) string {
	switch status {
	case http.StatusBadRequest:
		return "INVALID_ARGUMENT"
	case http.StatusUnauthorized:
		return "UNAUTHENTICATED"
	case http.StatusForbidden:
		return "PERMISSION_DENIED"
	case http.StatusNotFound:
		return "NOT_FOUND"
	case http.StatusConflict:
		return "ALREADY_EXISTS"
	case http.StatusPreconditionFailed:
		return "FAILED_PRECONDITION"
	case http.StatusTooManyRequests:
		return "RESOURCE_EXHAUSTED"
	case http.StatusNotImplemented:
		return "UNIMPLEMENTED"
	}
	return "INTERNAL"
}

func invalid(format string, args ...any) *refusal { return refuse(400, "invalid", format, args...) }

func notFound(what string) *refusal {
	return refuse(404, "notFound", "The resource '%s' was not found", what)
}

func exists(what string) *refusal {
	return refuse(409, "alreadyExists", "The resource '%s' already exists", what)
}

func conditionNotMet(what string) *refusal {
	return refuse(412, "conditionNotMet", "%s", what)
}

// toReply encodes an error in the form of Compute Engine and Cloud Storage, including the status of
// the newer services. https://cloud.google.com/apis/design/errors#http_mapping
func (r *refusal) toReply() *reply {
	e := map[string]any{
		"code": r.status, "message": r.message, "status": r.code,
		"errors": []any{map[string]any{"message": r.message, "domain": "global", "reason": r.reason}},
	}
	if len(r.details) > 0 {
		e["details"] = r.details
	}
	return jsonReply(r.status, map[string]any{"error": e})
}

func jsonReply(status int, v any) *reply {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // every response is a generated type or a map of such
	}
	return &reply{status: status, header: http.Header{"Content-Type": {"application/json; charset=UTF-8"}}, body: b, json: true}
}

// toReply encodes the result of an act.
func toReply(out any) *reply {
	switch out := out.(type) {
	case nil:
		return &reply{status: http.StatusNoContent, header: http.Header{}}
	case *media:
		if out.status == 0 {
			out.status = http.StatusOK
		}
		return &reply{status: out.status, header: out.header, body: out.body}
	}
	return jsonReply(http.StatusOK, out)
}

// send writes the reply to a connection.
func (r *reply) send(w http.ResponseWriter) {
	for k, v := range r.header {
		w.Header()[k] = v
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(r.body)))
	w.WriteHeader(r.status)
	_, _ = w.Write(r.body) // the client may have disconnected
}

// reasonOf returns the reason of an error for the journal.
func reasonOf(err error) string {
	if err == nil {
		return ""
	}
	if r, ok := errors.AsType[*refusal](err); ok {
		return r.reason
	}
	return err.Error()
}
