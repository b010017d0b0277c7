// Package api lists exactly the calls of Amazon's that det-deploy makes, one
// interface a service. What may be asked, with which permission, and how a
// refusal reads is decided here once, so that callers never see an AWS code.
package api

import (
	"slices"

	"github.com/det-deploy/det-deploy/cloud/edge"
)

// Clients are the services of one region, as one caller.
type Clients struct {
	// Region is the region that was chosen: "us-west-2".
	Region  string
	EC2     EC2
	IAM     IAM
	STS     STS
	S3      S3
	Secrets Secrets
	SSM     SSM
	Quotas  Quotas
	Logs    Logs
	Metrics Metrics
}

// Calls is every call of the interfaces of this package, checked by hand against
// Amazon's service authorization reference. A test compares both lists.
func Calls() edge.Calls {
	return slices.Concat(ec2Reads(), ec2Writes(), iamCalls(), s3Reads(), s3Writes(), secretsCalls(), logsCalls(), singleCalls())
}

// Table is what is known of Amazon's calls and codes.
func Table() edge.Table {
	return edge.Table{Calls: Calls(), Rules: errorRules(), FixDenied: fixPolicy, FixCredentials: fixLogin}
}
