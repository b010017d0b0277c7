package api

import (
	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/edge"
)

// errorFamilies are the rules that Amazon's own naming makes.
func errorFamilies() []edge.Family {
	of := func(prefix, suffix string, kind cloud.Kind) edge.Family {
		return edge.Family{Prefix: prefix, Suffix: suffix, Kind: kind}
	}
	return []edge.Family{
		of("", ".NotFound", cloud.NotFound),
		of("NoSuch", "", cloud.NotFound),
		of("", ".Duplicate", cloud.Conflict),
		of("", ".InUse", cloud.Conflict),
		of("", "InUse", cloud.Conflict),
		of("", "AlreadyExists", cloud.Conflict),
		of("", "AlreadyExistsException", cloud.Conflict),
		of("", ".AlreadyAssociated", cloud.Conflict),
		of("Throttl", "", cloud.RateLimited),
		{Prefix: "AccessDenied", Suffix: "", Kind: cloud.Denied, Fix: fixPolicy},
		{Prefix: "", Suffix: "LimitExceeded", Kind: cloud.Quota, Fix: fixQuota},
		{Prefix: "", Suffix: "LimitExceededException", Kind: cloud.Quota, Fix: fixQuota},
		of("Invalid", "", cloud.Invalid),
		of("Malformed", "", cloud.Invalid),
		of("Unsupported", "", cloud.Invalid),
		of("Missing", "", cloud.Invalid),
	}
}
