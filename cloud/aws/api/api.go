// Package api defines the AWS API calls that det-deploy makes, as one interface per service. It
// holds the permissions that each call requires and the classification of its errors, so that
// callers never handle AWS error codes.
package api

import (
	"slices"

	"github.com/det-deploy/det-deploy/cloud/edge"
)

// Clients holds the service clients of one region and caller.
type Clients struct {
	// Region is the region in use: "us-west-2".
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

// Calls returns the calls of all interfaces in this package, checked by hand against Amazon's
// service authorization reference. A test compares the list with the interfaces.
func Calls() edge.Calls {
	return slices.Concat(ec2Reads(), ec2Writes(), iamCalls(), s3Reads(), s3Writes(), secretsCalls(), logsCalls(), singleCalls())
}

// Table returns the calls and the error rules of AWS.
func Table() edge.Table {
	return edge.Table{Calls: Calls(), Rules: errorRules(), FixDenied: fixPolicy, FixCredentials: fixLogin}
}
