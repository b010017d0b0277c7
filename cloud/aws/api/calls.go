package api

import (
	"slices"

	"github.com/det-deploy/det-deploy/cloud/edge"
)

// Calls is every call of the interfaces of this package, checked by hand against
// Amazon's service authorization reference. A test compares both lists.
func Calls() edge.Calls {
	return slices.Concat(ec2Reads(), ec2Writes(), iamCalls(), s3Reads(), s3Writes(), secretsCalls(), logsCalls(), otherCalls())
}

// Table is what is known of Amazon's calls and codes.
func Table() edge.Table {
	return edge.Table{Calls: Calls(), Rules: errorRules(), FixDenied: fixPolicy, FixCredentials: fixLogin}
}
