package api

import (
	"context"
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go"

	"github.com/det-deploy/det-deploy/cloud/edge"
)

// checkedCredentials marks the error of credentials that could not be loaded, so that it
// is distinct from a service's answer.
type checkedCredentials struct{ aws.CredentialsProvider }

func (p checkedCredentials) Retrieve(ctx context.Context) (aws.Credentials, error) {
	c, err := p.CredentialsProvider.Retrieve(ctx)
	if err != nil && !edge.GaveUp(err) {
		return c, &credentialsError{credentialsReason(err)}
	}
	return c, err
}

// errNoCredentials is what remains of an SDK that tried every source and ended with the
// machine's role.
var errNoCredentials = errors.New("there are none in the environment, in the AWS configuration files or from a role of this machine")

// credentialsReason leaves out the layers of the SDK.
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
