package api

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/sts"
)

// STS is what det-deploy asks of Amazon about who the caller is.
type STS interface {
	GetCallerIdentity(ctx context.Context, in *sts.GetCallerIdentityInput, o ...func(*sts.Options)) (*sts.GetCallerIdentityOutput, error)
}

var _ STS = (*sts.Client)(nil)
