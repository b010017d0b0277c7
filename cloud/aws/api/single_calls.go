package api

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/servicequotas"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/det-deploy/det-deploy/cloud/edge"
)

// STS is what det-deploy asks of Amazon about who the caller is.
type STS interface {
	GetCallerIdentity(ctx context.Context, in *sts.GetCallerIdentityInput, o ...func(*sts.Options)) (*sts.GetCallerIdentityOutput, error)
}

var _ STS = (*sts.Client)(nil)

// SSM is what det-deploy asks of Amazon about public parameters that name images.
type SSM interface {
	GetParameter(ctx context.Context, in *ssm.GetParameterInput, o ...func(*ssm.Options)) (*ssm.GetParameterOutput, error)
}

var _ SSM = (*ssm.Client)(nil)

// Quotas is what det-deploy asks of Amazon about what the account may have.
type Quotas interface {
	GetServiceQuota(ctx context.Context, in *servicequotas.GetServiceQuotaInput, o ...func(*servicequotas.Options)) (*servicequotas.GetServiceQuotaOutput, error)
}

var _ Quotas = (*servicequotas.Client)(nil)

// Metrics is what det-deploy asks of Amazon about metrics.
type Metrics interface {
	PutMetricData(ctx context.Context, in *cloudwatch.PutMetricDataInput, o ...func(*cloudwatch.Options)) (*cloudwatch.PutMetricDataOutput, error)
}

var _ Metrics = (*cloudwatch.Client)(nil)

// singleCalls are those of services that are asked one thing each.
func singleCalls() edge.Calls {
	return edge.Calls{
		// Every principal may ask for its own identity.
		{Op: "sts:GetCallerIdentity"},
		edge.Reads("ssm:GetParameter"),
		edge.Reads("servicequotas:GetServiceQuota"),
		edge.Writes("cloudwatch:PutMetricData"),
	}
}
