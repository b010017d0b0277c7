package api

import (
	"slices"

	"github.com/det-deploy/det-deploy/cloud"
)

// rules is every code of Amazon's that has a meaning of its own. Adding one is
// one line.
func rules() []rule {
	return slices.Concat(permission(), scarcity(), pace(), condition(), mistake())
}

// permission: the caller may not, or is not who it says.
func permission() []rule {
	denied := func(code, fix string) rule { return rule{code: code, kind: cloud.Denied, fix: fix} }
	return []rule{
		denied("UnauthorizedOperation", fixPolicy),
		denied("AccessDenied", fixPolicy),
		denied("AccessDeniedException", fixPolicy),
		denied("Forbidden", fixPolicy), // a HEAD of S3's has no body
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
		denied("OptInRequired", fixAccount),
		denied("Blocked", fixAccount),
		denied("PendingVerification", fixAccount),
		denied("AccountProblem", fixAccount),
		denied("AccountDisabled", fixAccount),
		denied("RegionDisabledException", fixAccount),
		// Kept out of the family of what is missing: a HEAD that may not look.
		denied("AllAccessDisabled", fixAccount),
	}
}

// scarcity: the account, or Amazon, has no more.
func scarcity() []rule {
	quota := func(code string) rule { return rule{code: code, kind: cloud.Quota, fix: fixQuota} }
	none := func(code, fix string) rule { return rule{code: code, kind: cloud.NoCapacity, fix: fix} }
	return []rule{
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
		none("SpotMaxPriceTooLow", "offer a higher spot price, or leave it out to pay up to the on-demand price"),
		// A type that a zone does not have: the next zone may.
		none("Unsupported", fixCapacity),
	}
}

// pace: too early, or out of order.
func pace() []rule {
	limited := func(code string) rule { return rule{code: code, kind: cloud.RateLimited} }
	broken := func(code string) rule { return rule{code: code, kind: cloud.Unavailable} }
	return []rule{
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

// condition: the object is not there, or not as the call expects.
func condition() []rule {
	gone := func(code string) rule { return rule{code: code, kind: cloud.NotFound} }
	conflict := func(code string) rule { return rule{code: code, kind: cloud.Conflict} }
	return []rule{
		gone("NotFound"), // a HEAD of S3's has no body
		gone("NoSuchEntity"),
		gone("ResourceNotFoundException"),
		gone("ParameterNotFound"),
		gone("NoSuchResourceException"),
		gone("Gateway.NotAttached"),
		// EC2 has no code of its own for a profile that it does not know, or not
		// yet: it takes seconds until a new one is known everywhere.
		{"InvalidParameterValue", "iamInstanceProfile", cloud.NotFound, ""},
		{"InvalidParameterValue", "Invalid IAM Instance Profile", cloud.NotFound, ""},
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
		conflict("OperationNotPermitted"), // termination protection
		conflict("IdempotentParameterMismatch"),
		conflict("BucketAlreadyOwnedByYou"),
		{"BucketAlreadyExists", "", cloud.Conflict, "choose another --cluster-id: bucket names are shared by all accounts"},
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
		conflict("InvalidInstanceID"), // a machine that is not running yet
		// A secret that is on its way out can only be restored or finished off.
		{"InvalidRequestException", "scheduled for deletion", cloud.Conflict, ""},
		{"InvalidRequestException", "marked for deletion", cloud.Conflict, ""},
		{"InvalidRequestException", "marked deleted", cloud.Conflict, ""},
		{"InvalidInput", "has been taken in this account", cloud.Conflict, ""},
	}
}

// mistake: the request will stay wrong. Most are families.
func mistake() []rule {
	wrong := func(code, fix string) rule { return rule{code: code, kind: cloud.Invalid, fix: fix} }
	return []rule{
		wrong("PermanentRedirect", fixRegion),
		wrong("MovedPermanently", fixRegion),
		wrong("AuthorizationHeaderMalformed", fixRegion),
		wrong("IllegalLocationConstraintException", fixRegion),
		wrong("ValidationError", ""),
		wrong("ValidationException", ""),
		wrong("BadRequest", ""),
		wrong("VPCIdNotSpecified", "name a subnet, or let a network be made"),
		wrong("UnknownParameter", ""),
	}
}
