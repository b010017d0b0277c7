package api_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/api"
)

// Each row is an error as AWS words it, and what the user is told to do.
func TestAdviceForErrorsOfAWS(t *testing.T) {
	t.Parallel()
	const user = "You are not authorized to perform this operation. User: arn:aws:iam::123456789012:user/ann is not authorized to perform: ec2:RunInstances on resource: arn:aws:ec2:us-west-2:123456789012:instance/* "
	const role = "User: arn:aws:sts::123456789012:assumed-role/dev/ann is not authorized to perform: iam:CreateRole on resource: arn:aws:iam::123456789012:role/det-lab-master "
	for _, tc := range []struct {
		op, code, message string
		kind              cloud.Kind
		fix               string
	}{
		{"ec2:RunInstances", "UnauthorizedOperation", user + "because no identity-based policy allows the ec2:RunInstances action", cloud.Denied, "allow ec2:RunInstances, "},
		{"ec2:RunInstances", "UnauthorizedOperation", user + "with an explicit deny in a service control policy", cloud.Denied, "ask the administrators of your AWS organization, whose policy denies ec2:RunInstances, "},
		{"iam:CreateRole", "AccessDenied", role + "with an explicit deny in a service control policy: arn:aws:organizations::999999999999:policy/o-1/service_control_policy/p-1", cloud.Denied, "no policy of this account can allow it"},
		{"iam:CreateRole", "AccessDenied", role + "because no service control policy allows the iam:CreateRole action", cloud.Denied, "ask the administrators"},
		{"s3:PutObject", "AccessDenied", role + "with an explicit deny in a resource control policy", cloud.Denied, "ask the administrators"},
		{"iam:CreateRole", "AccessDenied", role + "with an explicit deny in a permissions boundary", cloud.Denied, "permissions boundary of your user or role"},
		{"iam:CreateRole", "AccessDenied", role + "because no permissions boundary allows the iam:CreateRole action", cloud.Denied, "permissions boundary of your user or role"},
		{"secretsmanager:CreateSecret", "AccessDeniedException", role + "because no session policy allows the secretsmanager:CreateSecret action", cloud.Denied, "session policy"},
		{"s3:GetObject", "AccessDenied", role + "because no VPC endpoint policy allows the s3:GetObject action", cloud.Denied, "policy of the VPC endpoint"},
		{"ec2:CreateVpc", "UnauthorizedOperation", user + "with an explicit deny in an identity-based policy", cloud.Denied, "if it requires MFA, log in with MFA"},
		{"s3:GetObject", "AccessDenied", role + "with an explicit deny in a resource-based policy", cloud.Denied, "policy of the resource itself"},
		{"s3:GetObject", "AccessDenied", "Access Denied", cloud.Denied, "allow s3:GetObject"},
		{"s3:HeadBucket", "Forbidden", "Forbidden", cloud.Denied, "allow s3:ListBucket"},
		{"ec2:DescribeVpcs", "AuthFailure", "AWS was not able to validate the provided access credentials", cloud.Denied, "check the access key"},
		{"sts:GetCallerIdentity", "InvalidClientTokenId", "The security token included in the request is invalid.", cloud.Denied, "check the access key"},
		{"s3:ListBuckets", "InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records.", cloud.Denied, "check the access key"},
		{"sts:GetCallerIdentity", "ExpiredToken", "The security token included in the request is expired", cloud.Denied, "log in to AWS again"},
		{"ec2:DescribeVpcs", "RequestExpired", "Request has expired.", cloud.Denied, "clock"},
		{"s3:GetObject", "RequestTimeTooSkewed", "The difference between the request time and the current time is too large.", cloud.Denied, "clock"},
		{"sts:GetCallerIdentity", "SignatureDoesNotMatch", "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method.", cloud.Denied, "secret access key"},
		{"ec2:RunInstances", "OptInRequired", "In order to use this AWS Marketplace product you need to accept terms and subscribe. To do so please visit https://aws.amazon.com/marketplace/pp?sku=abc", cloud.Denied, "accept the terms of the image"},
		{"ec2:RunInstances", "OptInRequired", "You are not subscribed to this service. Please go to http://aws.amazon.com to subscribe.", cloud.Denied, "complete the activation"},
		{"ec2:RunInstances", "PendingVerification", "Your request for accessing resources in this region is being validated, and you will not be able to launch additional resources in this region until the validation is complete.", cloud.Denied, "complete the activation"},
		{"ec2:RunInstances", "Blocked", "This account is currently blocked and not recognized as a valid account.", cloud.Denied, "complete the activation"},
		{"ec2:CreateVpc", "TagPolicyViolation", "The tag policy does not allow the specified value for the following tag key: 'CostCenter'.", cloud.Invalid, "--tag KEY=VALUE"},
		{"ec2:RunInstances", "VcpuLimitExceeded", "You have requested more vCPU capacity than your current vCPU limit of 0 allows for the instance bucket that the specified instance type belongs to.", cloud.Quota, "request a quota increase"},
		{"ec2:RunInstances", "MaxSpotInstanceCountExceeded", "Max spot instance count exceeded", cloud.Quota, "request a quota increase"},
		{"ec2:AllocateAddress", "AddressLimitExceeded", "The maximum number of addresses has been reached.", cloud.Quota, "request a quota increase"},
		{"ec2:CreateVpc", "VpcLimitExceeded", "The maximum number of VPCs has been reached.", cloud.Quota, "request a quota increase"},
		{"iam:CreateRole", "LimitExceeded", "Cannot exceed quota for RolesPerAccount: 1000", cloud.Quota, "request a quota increase"},
		{"s3:CreateBucket", "TooManyBuckets", "You have attempted to create more buckets than allowed", cloud.Quota, "request a quota increase"},
		{"ec2:RunInstances", "InsufficientInstanceCapacity", "We currently do not have sufficient p5.48xlarge capacity in the Availability Zone you requested (us-west-2a).", cloud.NoCapacity, "allow more zones"},
		{"ec2:RunInstances", "Unsupported", "Your requested instance type (p5.48xlarge) is not supported in your requested Availability Zone (us-west-2d).", cloud.NoCapacity, "allow more zones"},
		{"ec2:RunInstances", "SpotMaxPriceTooLow", "Your Spot request price of 0.1 is lower than the minimum required Spot request fulfillment price of 0.5.", cloud.NoCapacity, "higher maximum spot price"},
		{"ec2:RunInstances", "InsufficientFreeAddressesInSubnet", "There are not enough free addresses in subnet 'subnet-0ab1' to satisfy the requested number of instances.", cloud.NoCapacity, "larger subnet"},
		{"s3:CreateBucket", "IllegalLocationConstraintException", "The me-south-1 location constraint is incompatible for the region specific endpoint this request was sent to.", cloud.Invalid, "choose another region with --region"},
		{"s3:GetObject", "PermanentRedirect", "The bucket you are attempting to access must be addressed using the specified endpoint.", cloud.Invalid, "choose another region with --region"},
		{"s3:CreateBucket", "BucketAlreadyExists", "The requested bucket name is not available.", cloud.Conflict, "another --cluster-id"},
		{"ec2:RunInstances", "RequestLimitExceeded", "Request limit exceeded.", cloud.RateLimited, ""},
		{"iam:CreateRole", "Throttling", "Rate exceeded", cloud.RateLimited, ""},
	} {
		err := api.Refusal(tc.op, "", tc.code, tc.message)
		if got := cloud.KindOf(err); got != tc.kind {
			t.Errorf("%s %q: got kind %q, want %q", tc.code, tc.message, got, tc.kind)
		}
		if got := hintOf(err); !strings.Contains(got, tc.fix) || (got == "") != (tc.fix == "") {
			t.Errorf("%s %q: got the advice %q, want %q", tc.code, tc.message, got, tc.fix)
		}
	}
}

func TestAdviceForRegion(t *testing.T) {
	t.Parallel()
	invalid := refuse(401, "AuthFailure", "AWS was not able to validate the provided access credentials")
	for region, want := range map[string]string{"me-south-1": "enable the region me-south-1", "us-west-2": "check the access key"} {
		cfg, _ := server(t, invalid)
		cfg.Region = region
		_, err := api.New(cfg, api.Options{}).EC2.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{})
		if got := hintOf(err); !strings.HasPrefix(got, want) {
			t.Errorf("%s, not enabled: got the advice %q, want %q", region, got, want)
		}
	}
	cfg := config("https://ec2.us-west-9.amazonaws.com")
	cfg.Region, cfg.HTTPClient = "us-west-9", nowhere{}
	_, err := api.New(cfg, api.Options{}).EC2.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{})
	if got := hintOf(err); !strings.Contains(got, "if us-west-9 is none") {
		t.Errorf("a region that does not exist: got %v with the advice %q", err, got)
	}
}

// nowhere is an HTTP client that finds no host.
type nowhere struct{}

func (nowhere) Do(r *http.Request) (*http.Response, error) {
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: r.URL.Host, IsNotFound: true}}
}

func TestAdviceForCredentials(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"refresh cached SSO token failed, unable to refresh SSO token":                                                       "log in with `aws sso login --profile work`",
		"the SSO session has expired or is invalid: open /home/ann/.aws/sso/cache/1.json: no such file or directory":         "log in with `aws sso login --profile work`",
		"operation error SSO: GetRoleCredentials, https response error StatusCode: 403, ForbiddenException: No access":       "check the account and the role of the profile",
		"operation error STS: AssumeRole, https response error StatusCode: 403, api error AccessDenied: User is not allowed": "check that the profile's role exists",
		"no EC2 IMDS role found": "log in to AWS with the profile work, or choose another with --profile",
	} {
		cfg := config("http://127.0.0.1:1")
		cfg.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return aws.Credentials{}, errors.New(text) })
		_, err := api.New(cfg, api.Options{Profile: "work"}).EC2.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{})
		if got := hintOf(err); !strings.HasPrefix(got, want) || cloud.KindOf(err) != cloud.Denied {
			t.Errorf("%s: got the advice %q (%s), want %q", text, got, cloud.KindOf(err), want)
		}
	}
}

// Not parallel, because it sets environment variables.
func TestProfileWithMFA(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	text := "[profile base]\naws_access_key_id = AKID\naws_secret_access_key = SECRET\n" +
		"[profile admin]\nrole_arn = arn:aws:iam::123456789012:role/admin\nsource_profile = base\nmfa_serial = arn:aws:iam::123456789012:mfa/ann\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_CONFIG_FILE", file)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
	_, err := api.Open(t.Context(), api.Options{Region: "us-west-2", Profile: "admin"})
	if got := hintOf(err); !strings.Contains(got, "aws configure export-credentials --profile admin") {
		t.Errorf("got %v with the advice %q, want how to log in with MFA", err, got)
	}
}

func hintOf(err error) string {
	e, ok := errors.AsType[*cloud.Error](err)
	if !ok {
		return ""
	}
	return e.Hint()
}
