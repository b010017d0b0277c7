package api

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/ssm"
)

// SSM is what det-deploy asks of Amazon about public parameters that name images.
type SSM interface {
	GetParameter(ctx context.Context, in *ssm.GetParameterInput, o ...func(*ssm.Options)) (*ssm.GetParameterOutput, error)
}

var _ SSM = (*ssm.Client)(nil)
