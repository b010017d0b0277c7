package api

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/servicequotas"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/det-deploy/det-deploy/cloud/edge"
)

// STS is the part of the STS API that det-deploy uses, for the identity of the caller.
type STS interface {
	GetCallerIdentity(ctx context.Context, in *sts.GetCallerIdentityInput, o ...func(*sts.Options)) (*sts.GetCallerIdentityOutput, error)
}

var _ STS = (*sts.Client)(nil)

// SSM is the part of the Systems Manager API that det-deploy uses, for public parameters with image
// IDs.
type SSM interface {
	GetParameter(ctx context.Context, in *ssm.GetParameterInput, o ...func(*ssm.Options)) (*ssm.GetParameterOutput, error)
}

var _ SSM = (*ssm.Client)(nil)

// Quotas is the part of the Service Quotas API that det-deploy uses.
type Quotas interface {
	GetServiceQuota(ctx context.Context, in *servicequotas.GetServiceQuotaInput, o ...func(*servicequotas.Options)) (*servicequotas.GetServiceQuotaOutput, error)
}

var _ Quotas = (*servicequotas.Client)(nil)

// Metrics is the part of the CloudWatch API that det-deploy uses.
type Metrics interface {
	PutMetricData(ctx context.Context, in *cloudwatch.PutMetricDataInput, o ...func(*cloudwatch.Options)) (*cloudwatch.PutMetricDataOutput, error)
}

var _ Metrics = (*cloudwatch.Client)(nil)

// singleCalls lists the calls of services with a single call each.
func singleCalls() edge.Calls {
	return edge.Calls{
		// GetCallerIdentity requires no permission.
		{Op: "sts:GetCallerIdentity"},
		edge.Reads("ssm:GetParameter"),
		edge.Reads("servicequotas:GetServiceQuota"),
		edge.Writes("cloudwatch:PutMetricData"),
	}
}
