package api

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/servicequotas"
)

// Quotas is what det-deploy asks of Amazon about what the account may have.
type Quotas interface {
	GetServiceQuota(ctx context.Context, in *servicequotas.GetServiceQuotaInput, o ...func(*servicequotas.Options)) (*servicequotas.GetServiceQuotaOutput, error)
}

var _ Quotas = (*servicequotas.Client)(nil)
