// Package api lists exactly the calls of Amazon's that det-deploy makes, one
// interface a service. What may be asked, with which permission, and how a
// refusal reads is decided here once, so that callers never see an AWS code.
package api

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
