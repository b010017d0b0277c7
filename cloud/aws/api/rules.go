package api

import (
	"slices"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/edge"
)

// errorRules returns the rules for all AWS error codes with a specific meaning. A new code takes
// one line.
func errorRules() edge.Rules {
	return edge.Rules{Exact: slices.Concat(policyRules(), denialRules(), shortageRules(), delayRules(), conflictRules(), mistakeRules()), Families: errorFamilies()}
}

// policyRules covers denials whose messages name the kind of policy that denies the call. Another
// policy of the account grants nothing against most of them.
func policyRules() []edge.Rule {
	kinds := []struct{ policy, fix string }{
		{"service control policy", fixOrganization},
		{"resource control policy", fixOrganization},
		{"permissions boundary", fixBoundary},
		{"session policy", fixSession},
		{"VPC endpoint policy", fixEndpointPolicy},
	}
	var out []edge.Rule
	for _, k := range kinds {
		out = append(out,
			edge.Rule{Contains: "explicit deny in a " + k.policy, Kind: cloud.Denied, Fix: k.fix},
			edge.Rule{Contains: "no " + k.policy + " allows", Kind: cloud.Denied, Fix: k.fix},
		)
	}
	return append(out,
		edge.Rule{Contains: "explicit deny in an identity-based policy", Kind: cloud.Denied, Fix: fixDeny},
		edge.Rule{Contains: "explicit deny in a resource-based policy", Kind: cloud.Denied, Fix: fixResourcePolicy},
	)
}

// denialRules covers missing permissions and invalid credentials.
func denialRules() []edge.Rule {
	denied := func(code, fix string) edge.Rule { return edge.Rule{Code: code, Kind: cloud.Denied, Fix: fix} }
	return []edge.Rule{
		denied("UnauthorizedOperation", fixPolicy),
		denied("AccessDenied", fixPolicy),
		denied("AccessDeniedException", fixPolicy),
		denied("Forbidden", fixPolicy), // S3 responses to HEAD have no body
		denied("NotAuthorized", fixPolicy),
		denied("AuthFailure.ServiceLinkedRoleCreationNotPermitted", fixPolicy),
		denied("AuthFailure", fixCredentials),
		denied("InvalidClientTokenId", fixCredentials),
		denied("InvalidAccessKeyId", fixCredentials),
		denied("UnrecognizedClientException", fixCredentials),
		denied("MissingAuthenticationToken", fixCredentials),
		denied("MissingAuthenticationTokenException", fixCredentials),
		denied("IncompleteSignature", fixCredentials),
		denied("InvalidToken", fixExpired),
		denied("ExpiredToken", fixExpired),
		denied("ExpiredTokenException", fixExpired),
		denied("TokenRefreshRequired", fixExpired),
		denied("SignatureDoesNotMatch", fixClock),
		denied("InvalidSignatureException", fixClock),
		denied("RequestTimeTooSkewed", fixClock),
		denied("RequestExpired", fixClock),
		denied("RequestInTheFuture", fixClock),
		{Code: "OptInRequired", Contains: "Marketplace", Kind: cloud.Denied, Fix: fixMarketplace},
		denied("OptInRequired", fixAccount),
		denied("Blocked", fixAccount),
		denied("PendingVerification", fixAccount),
		denied("AccountProblem", fixAccount),
		denied("AccountDisabled", fixAccount),
		denied("RegionDisabledException", fixAccount),
		denied("AllAccessDisabled", fixAccount),
	}
}

// shortageRules covers account quotas and missing capacity.
func shortageRules() []edge.Rule {
	quota := func(code string) edge.Rule { return edge.Rule{Code: code, Kind: cloud.Quota, Fix: fixQuota} }
	none := func(code, fix string) edge.Rule { return edge.Rule{Code: code, Kind: cloud.NoCapacity, Fix: fix} }
	return []edge.Rule{
		quota("VcpuLimitExceeded"),
		quota("InstanceLimitExceeded"),
		quota("MaxSpotInstanceCountExceeded"),
		quota("AddressLimitExceeded"),
		quota("VpcLimitExceeded"),
		quota("InternetGatewayLimitExceeded"),
		quota("RulesPerSecurityGroupLimitExceeded"),
		quota("VolumeLimitExceeded"),
		quota("MaxIOPSLimitExceeded"),
		quota("SnapshotLimitExceeded"),
		quota("TagLimitExceeded"),
		quota("TooManyBuckets"),
		quota("LimitExceeded"),
		quota("LimitExceededException"),
		none("InsufficientInstanceCapacity", fixCapacity),
		none("InsufficientHostCapacity", fixCapacity),
		none("InsufficientReservedInstanceCapacity", fixCapacity),
		none("InsufficientCapacity", fixCapacity),
		none("InsufficientAddressCapacity", fixCapacity),
		none("InsufficientVolumeCapacity", fixCapacity),
		none("InsufficientFreeAddressesInSubnet", "use a larger subnet, or fewer agents"),
		none("SpotMaxPriceTooLow", "set a higher maximum spot price, or omit it to pay up to the on-demand price"),
		// The zone does not offer the instance type; another zone may.
		none("Unsupported", fixCapacity),
	}
}

// delayRules covers throttling and outages.
func delayRules() []edge.Rule {
	limited := func(code string) edge.Rule { return edge.Rule{Code: code, Kind: cloud.RateLimited} }
	broken := func(code string) edge.Rule { return edge.Rule{Code: code, Kind: cloud.Unavailable} }
	return []edge.Rule{
		limited("RequestLimitExceeded"),
		limited("RequestThrottled"),
		limited("TooManyRequestsException"),
		limited("EC2ThrottledException"),
		limited("ResourceCountExceeded"),
		limited("PriorRequestNotComplete"),
		limited("BandwidthLimitExceeded"),
		limited("SlowDown"),
		limited("SnapshotCreationPerVolumeRateExceeded"),
		broken("InternalError"),
		broken("InternalFailure"),
		broken("InternalServiceError"),
		broken("InternalServerError"),
		broken("ServiceFailure"),
		broken("ServiceUnavailable"),
		broken("ServiceUnavailableException"),
		broken("Unavailable"),
		broken("RequestTimeout"),
		broken("RequestTimeoutException"),
	}
}

// conflictRules covers missing objects and objects in an unexpected state.
func conflictRules() []edge.Rule {
	gone := func(code string) edge.Rule { return edge.Rule{Code: code, Kind: cloud.NotFound} }
	conflict := func(code string) edge.Rule { return edge.Rule{Code: code, Kind: cloud.Conflict} }
	return []edge.Rule{
		gone("NotFound"), // S3 responses to HEAD have no body
		gone("NoSuchEntity"),
		gone("ResourceNotFoundException"),
		gone("ParameterNotFound"),
		gone("NoSuchResourceException"),
		gone("Gateway.NotAttached"),
		// EC2 has no error code for an unknown instance profile. It takes seconds until a new one
		// is known to all parts of EC2.
		{Code: "InvalidParameterValue", Contains: "iamInstanceProfile", Kind: cloud.NotFound},
		{Code: "InvalidParameterValue", Contains: "Invalid IAM Instance Profile", Kind: cloud.NotFound},
		conflict("DependencyViolation"),
		conflict("DeleteConflict"),
		conflict("EntityTemporarilyUnmodifiable"),
		conflict("ConcurrentModification"),
		conflict("UnmodifiableEntity"),
		conflict("IncorrectState"),
		conflict("IncorrectInstanceState"),
		conflict("IncorrectSpotRequestState"),
		conflict("IncorrectModificationState"),
		conflict("Resource.AlreadyAssociated"),
		conflict("RouteAlreadyExists"),
		conflict("OperationNotPermitted"), // termination protection is enabled
		conflict("IdempotentParameterMismatch"),
		conflict("BucketAlreadyOwnedByYou"),
		{Code: "BucketAlreadyExists", Kind: cloud.Conflict, Fix: "choose another --cluster-id; bucket names are global"},
		conflict("BucketNotEmpty"),
		conflict("OperationAborted"),
		conflict("OperationAbortedException"),
		conflict("PreconditionFailed"),
		conflict("ConditionalRequestConflict"),
		conflict("NotModified"),
		conflict("ResourceExistsException"),
		conflict("ResourceAlreadyExistsException"),
		conflict("PreconditionNotMetException"),
		conflict("InvalidSubnet.Conflict"),
		conflict("InvalidInstanceID"), // the instance is not running yet
		// A secret that is scheduled for deletion can only be restored or deleted immediately.
		{Code: "InvalidRequestException", Contains: "scheduled for deletion", Kind: cloud.Conflict},
		{Code: "InvalidRequestException", Contains: "marked for deletion", Kind: cloud.Conflict},
		{Code: "InvalidRequestException", Contains: "marked deleted", Kind: cloud.Conflict},
		{Code: "InvalidInput", Contains: "has been taken in this account", Kind: cloud.Conflict},
	}
}

// mistakeRules covers permanently invalid requests. Most of them are in families.
func mistakeRules() []edge.Rule {
	wrong := func(code, fix string) edge.Rule { return edge.Rule{Code: code, Kind: cloud.Invalid, Fix: fix} }
	return []edge.Rule{
		wrong("PermanentRedirect", fixOtherRegion),
		wrong("MovedPermanently", fixOtherRegion),
		wrong("AuthorizationHeaderMalformed", fixOtherRegion),
		wrong("IllegalLocationConstraintException", fixOtherRegion),
		wrong("ValidationError", ""),
		wrong("ValidationException", ""),
		wrong("BadRequest", ""),
		wrong("VPCIdNotSpecified", "set a subnet, or let det-deploy create a network"),
		wrong("UnknownParameter", ""),
		wrong("TagPolicyViolation", "set the tag to a value that the organization's tag policy accepts: --tag KEY=VALUE"),
	}
}

// errorFamilies returns the rules that follow AWS naming conventions.
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
