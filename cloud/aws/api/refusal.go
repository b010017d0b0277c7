package api

import (
	"github.com/aws/smithy-go"

	"github.com/det-deploy/det-deploy/cloud"
)

// Refusal is what a call that answers item by item said about one of them, in
// our own words: the call as a whole succeeded.
func Refusal(op, item, code, message string) error {
	r, ok := ruleOf(code, message)
	if !ok {
		r.kind = cloud.Unknown
	}
	err := &smithy.GenericAPIError{Code: code, Message: message}
	return &cloud.Error{Kind: r.kind, Op: op, Resource: item, Fix: fixOf(op, r.kind, err), Err: read(err)}
}
