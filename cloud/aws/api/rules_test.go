package api_test

import (
	"errors"
	"testing"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/api"
)

func TestCodes(t *testing.T) {
	t.Parallel()
	for kind, codes := range map[cloud.Kind][]string{
		cloud.Denied: {
			"UnauthorizedOperation", "AccessDenied", "AccessDeniedException", "AuthFailure", "ExpiredToken", "ExpiredTokenException", "InvalidClientTokenId",
			"SignatureDoesNotMatch", "RequestExpired", "RequestTimeTooSkewed", "OptInRequired", "Blocked", "PendingVerification", "UnrecognizedClientException",
			"AuthFailure.ServiceLinkedRoleCreationNotPermitted",
		},
		cloud.NotFound: {
			"InvalidVpcID.NotFound", "InvalidSubnetID.NotFound", "InvalidGroup.NotFound", "InvalidInstanceID.NotFound", "InvalidAMIID.NotFound",
			"InvalidAllocationID.NotFound", "InvalidVolume.NotFound", "InvalidPermission.NotFound", "InvalidRoute.NotFound", "NoSuchEntity", "NoSuchBucket",
			"NoSuchKey", "NoSuchTagSet", "NoSuchBucketPolicy", "NoSuchUpload", "NotFound", "ResourceNotFoundException", "ParameterNotFound", "Gateway.NotAttached",
		},
		cloud.Quota: {
			"VcpuLimitExceeded", "MaxSpotInstanceCountExceeded", "AddressLimitExceeded", "VpcLimitExceeded", "InstanceLimitExceeded", "SubnetLimitExceeded",
			"LimitExceeded", "TooManyBuckets", "SecurityGroupLimitExceeded",
		},
		cloud.NoCapacity:  {"InsufficientInstanceCapacity", "SpotMaxPriceTooLow", "Unsupported", "InsufficientFreeAddressesInSubnet"},
		cloud.RateLimited: {"RequestLimitExceeded", "Throttling", "ThrottlingException", "ThrottledException", "TooManyRequestsException", "SlowDown"},
		cloud.Conflict: {
			"DependencyViolation", "InvalidGroup.Duplicate", "InvalidPermission.Duplicate", "InvalidKeyPair.Duplicate", "RouteAlreadyExists", "VolumeInUse",
			"InvalidIPAddress.InUse", "InvalidNetworkInterface.InUse", "BucketAlreadyOwnedByYou", "BucketAlreadyExists", "BucketNotEmpty", "PreconditionFailed",
			"ConditionalRequestConflict", "EntityAlreadyExists", "DeleteConflict", "ResourceExistsException", "ResourceAlreadyExistsException",
			"IdempotentParameterMismatch", "IncorrectInstanceState", "OperationNotPermitted", "Resource.AlreadyAssociated", "InvalidSubnet.Conflict", "OperationAborted",
		},
		cloud.Invalid: {
			"InvalidParameterValue", "InvalidParameterCombination", "InvalidAMIID.Malformed", "InvalidVpc.Range", "InvalidSubnet.Range", "MalformedPolicyDocument",
			"MissingParameter", "InvalidBucketName", "UnsupportedOperation", "ValidationError", "InvalidRequestException", "PermanentRedirect", "InvalidInstanceType",
		},
		cloud.Unavailable: {"InternalError", "ServiceUnavailable", "InternalServiceError", "ServiceFailure"},
		cloud.Unknown:     {"Strange"},
	} {
		for _, code := range codes {
			if got := cloud.KindOf(api.Refusal("ec2:DeleteVpc", "vpc-1", code, "no")); got != kind {
				t.Errorf("%s: got %q, want %q", code, got, kind)
			}
		}
	}
}

// Some codes have several meanings, which only their messages distinguish.
func TestCodesWithSeveralMeanings(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		code, message string
		want          cloud.Kind
	}{
		{"InvalidParameterValue", "Value (det-lab-master) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name", cloud.NotFound},
		{"InvalidRequestException", "You can't create this secret because a secret with this name is already scheduled for deletion.", cloud.Conflict},
		{"InvalidRequestException", "You can't perform this operation on the secret because it was marked for deletion.", cloud.Conflict},
		{"InvalidInput", "Service role name AWSServiceRoleForEC2Spot has been taken in this account, please try a different suffix.", cloud.Conflict},
		{"InvalidInput", "something else", cloud.Invalid},
	} {
		if got := cloud.KindOf(api.Refusal("x:Y", "z", tc.code, tc.message)); got != tc.want {
			t.Errorf("%s %q: got %q, want %q", tc.code, tc.message, got, tc.want)
		}
	}
}

func TestItemErrorHasCommonFormat(t *testing.T) {
	t.Parallel()
	err := api.Refusal("s3:DeleteObjects", "checkpoint", "AccessDenied", "Access Denied")
	if want := "s3:DeleteObjects checkpoint: Access Denied (AccessDenied)"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	e, ok := errors.AsType[*cloud.Error](err)
	if want := "allow s3:DeleteObject, s3:DeleteObjectVersion; `det-deploy aws policy` prints the required policies"; !ok || e.Fix != want {
		t.Errorf("got %q, want %q", e.Fix, want)
	}
}
