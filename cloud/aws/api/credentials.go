package api

import (
	"context"
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go"

	"github.com/det-deploy/det-deploy/cloud/edge"
)

// checkedCredentials marks errors of loading credentials, to distinguish them from errors of a
// service.
type checkedCredentials struct{ aws.CredentialsProvider }

func (p checkedCredentials) Retrieve(ctx context.Context) (aws.Credentials, error) {
	c, err := p.CredentialsProvider.Retrieve(ctx)
	if err != nil && !edge.GaveUp(err) {
		return c, &credentialsError{credentialsReason(err)}
	}
	return c, err
}

// errNoCredentials replaces the SDK's error after it has tried all sources, the last one being the
// instance role.
var errNoCredentials = errors.New("none found in the environment, the AWS configuration files or the instance metadata")

// credentialsReason removes the SDK's wrapping from an error.
func credentialsReason(err error) error {
	if op, ok := errors.AsType[*smithy.OperationError](err); ok && op.ServiceID == "ec2imds" {
		return errNoCredentials
	}
	if inner := errors.Unwrap(err); inner != nil && strings.HasPrefix(err.Error(), "failed to refresh cached credentials") {
		return inner
	}
	return err
}

type credentialsError struct{ err error }

func (e *credentialsError) Error() string { return "no credentials: " + e.err.Error() }
func (e *credentialsError) Unwrap() error { return e.err }
