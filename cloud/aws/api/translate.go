package api

import (
	"errors"
	"fmt"
	"strings"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/edge"
)

// translateError converts an error of the SDK to a cloud.Error. Changing reports whether the call
// may have modified resources.
func (i interceptor) translateError(op string, changing bool, err error) error {
	if err == nil {
		return nil
	}
	if shut, ok := errors.AsType[*gateError](err); ok {
		return shut.err
	}
	if !changing && edge.GaveUp(err) {
		return fmt.Errorf("%s: %w", op, err)
	}
	a := answerOf(err)
	if a.Code == "DryRunOperation" {
		return &cloud.Error{Kind: i.table.KindOf(changing, a), Op: op, Err: errAllowed}
	}
	a.Fix = i.adviseOn(a)
	return i.table.Refuse(op, changing, a)
}

// Refusal returns the error for one item of a batch call.
func Refusal(op, item, code, message string) error {
	err := &smithy.GenericAPIError{Code: code, Message: message}
	return Table().RefuseItem(op, item, answerOf(err))
}

// unreadCode is the SDK's error code for a response that it cannot parse.
const unreadCode = "UnknownError"

// answerOf converts an error of the SDK to an Answer.
func answerOf(err error) edge.Answer {
	a := edge.Answer{Message: trimLayers(err).Error(), Status: statusOf(err), Transport: transportOf(err), Err: err}
	if e, ok := errors.AsType[smithy.APIError](err); ok && e.ErrorCode() != unreadCode {
		a.Code, a.Message = e.ErrorCode(), trimMessage(e.ErrorMessage())
	}
	return a
}

func statusOf(err error) int {
	if e, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		return e.HTTPStatusCode()
	}
	return 0
}

// transportOf determines from the SDK's wrapped errors why a request had no response.
func transportOf(err error) edge.Transport {
	if _, ok := errors.AsType[*credentialsError](err); ok {
		return edge.Unauthenticated
	}
	if _, ok := errors.AsType[smithy.InvalidParamsError](err); ok {
		return edge.Malformed
	}
	if _, ok := errors.AsType[*smithy.SerializationError](err); ok {
		return edge.Malformed
	}
	if edge.NeverConnected(err) {
		return edge.Unconnected
	}
	if _, ok := errors.AsType[*smithyhttp.RequestSendError](err); ok {
		return edge.Lost
	}
	return edge.Unclear
}

// trimMessage removes the part that only `sts decode-authorization-message` can decode.
func trimMessage(message string) string {
	text, _, _ := strings.Cut(message, " Encoded authorization failure message:")
	return strings.TrimSuffix(strings.TrimSpace(text), ".")
}

// trimLayers removes SDK errors that carry no information for users.
func trimLayers(err error) error {
	if e, ok := errors.AsType[*smithyhttp.RequestSendError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*credentialsError](err); ok {
		return e
	}
	if e, ok := errors.AsType[*finalError](err); ok {
		return e.err
	}
	return err
}
