package awstest

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
)

// refusal is the error response of a service.
type refusal struct {
	code, message string
	status        int
	err           error
}

func (r *refusal) Error() string                 { return fmt.Sprintf("%s: %s", r.code, r.message) }
func (r *refusal) Unwrap() error                 { return r.err }
func (r *refusal) ErrorCode() string             { return r.code }
func (r *refusal) ErrorMessage() string          { return r.message }
func (r *refusal) ErrorFault() smithy.ErrorFault { return smithy.FaultUnknown }

// refuse returns an error response in the form of the SDK, with its HTTP status.
func refuse(status int, code, message string) error {
	return wire(&refusal{code, message, status, nil})
}

// injected returns an error response requested by a test.
func injected(status int, code, message string) error {
	return wire(&refusal{code, message, status, faults.ErrInjected})
}

func wire(r *refusal) error {
	return &smithyhttp.ResponseError{
		Response: &smithyhttp.Response{Response: &http.Response{StatusCode: r.status, Header: http.Header{}, Body: http.NoBody}},
		Err:      r,
	}
}

func codeOf(err error) string {
	if err == nil {
		return ""
	}
	if r, ok := errors.AsType[*refusal](err); ok {
		return r.code
	}
	return err.Error()
}

// isDryRun reports whether an input has DryRun set. It uses reflection, because the input types
// share no interface.
func isDryRun(in any) bool {
	v := reflect.Indirect(reflect.ValueOf(in))
	if v.Kind() != reflect.Struct {
		return false
	}
	f := v.FieldByName("DryRun")
	if !f.IsValid() {
		return false
	}
	b, _ := f.Interface().(*bool) // a field of another type is not the DryRun flag
	return aws.ToBool(b)
}

func missing(parameter string) error {
	return refuse(400, "MissingParameter", "The request must contain the parameter "+parameter)
}

func invalid(format string, args ...any) error {
	return refuse(400, "InvalidParameterValue", fmt.Sprintf(format, args...))
}

func violation(format string, args ...any) error {
	return refuse(400, "DependencyViolation", fmt.Sprintf(format, args...))
}
