package api

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/edge"
)

// Advice for the user. {permissions} is replaced by the permissions that the call requires.
const (
	fixPolicy      = "allow {permissions}; `det-deploy aws policy` prints the required policies"
	fixLogin       = "log in to AWS, or choose a profile with --profile or AWS_PROFILE"
	fixCredentials = "check the access key, or choose another profile with --profile or AWS_PROFILE"
	fixExpired     = "log in to AWS again; the session has expired"
	fixClock       = "check the secret access key and this machine's clock"
	fixAccount     = "complete the activation of the account or region in the AWS console"
	fixQuota       = "request a quota increase in Service Quotas, or use fewer resources: `det-deploy aws doctor` shows quotas and usage"
	fixCapacity    = "allow more zones or other instance types: `det-deploy aws doctor` shows the zones of each type"
	fixRegion      = "set the region with --region or AWS_REGION"
	fixOtherRegion = "choose another region with --region or AWS_REGION"
	fixMarketplace = "accept the terms of the image at that address in the AWS Marketplace, or choose another image with --master-image or --agent-image"
)

// Advice for denials that no policy of the account can lift.
const (
	fixOrganization = "ask the administrators of your AWS organization, whose policy denies {permissions}; no policy of this account can allow it. " +
		"If their policy requires tags or certain regions, set --tag or choose another --region"
	fixBoundary       = "have {permissions} added to the permissions boundary of your user or role; an attached policy alone cannot allow it"
	fixSession        = "log in without the session policy, or have {permissions} added to it"
	fixEndpointPolicy = "have {permissions} added to the policy of the VPC endpoint through which this machine calls AWS"
	fixDeny           = "have the Deny statement removed from the policies of your user or role, because an allowed action does not override it; " +
		"if it requires MFA, log in with MFA"
	fixResourcePolicy = "have the Deny statement removed from the policy of the resource itself"
)

// Advice that depends on the region or the profile in use.
const (
	fixOptIn         = "enable the region %s for the account in the AWS console, or choose another with --region; if it is enabled, check the access key"
	fixUnknownRegion = "choose an existing region with --region, if %s is none; otherwise check the name resolution of this machine"
	fixProfile       = "log in to AWS with the profile %s, or choose another with --profile or AWS_PROFILE"
	fixSSO           = "log in with `aws sso login%s`"
	fixMFA           = "det-deploy does not ask for MFA codes; log in with the AWS CLI: `eval \"$(aws configure export-credentials%s --format env)\"`, and omit --profile"
	fixTrust         = "check that the profile's role exists and that its trust policy admits you, or choose another profile with --profile or AWS_PROFILE"
	fixAssignment    = "check the account and the role of the profile: you have no access to this permission set of IAM Identity Center"
)

// ByPolicy reports whether a policy that allows the action, attached to the caller, lifts a denial.
func ByPolicy(e *cloud.Error) bool {
	r, ok := Table().Rules.Find(edge.CodeOf(e), e.Error())
	return !ok || r.Fix == "" || r.Fix == fixPolicy
}

// defaultRegions are the regions that every account may use. All later ones must be enabled first,
// so the list does not grow.
func defaultRegions() []string {
	return []string{
		"us-east-1", "us-east-2", "us-west-1", "us-west-2", "ca-central-1", "sa-east-1", "eu-central-1", "eu-north-1", "eu-west-1", "eu-west-2", "eu-west-3",
		"ap-northeast-1", "ap-northeast-2", "ap-northeast-3", "ap-south-1", "ap-southeast-1", "ap-southeast-2",
	}
}

// adviseOn returns the advice that depends on the region or the profile in use, or "".
func (i interceptor) adviseOn(a edge.Answer) string {
	if e, ok := errors.AsType[*credentialsError](a.Err); ok {
		return adviseOnCredentials(e.err.Error(), i.profile)
	}
	if slices.Contains(defaultRegions(), i.region) {
		return ""
	}
	if e, ok := errors.AsType[*net.DNSError](a.Err); ok && e.IsNotFound {
		return fmt.Sprintf(fixUnknownRegion, i.region)
	}
	if r, ok := i.table.Rules.Find(a.Code, a.Message); ok && r.Fix == fixCredentials {
		return fmt.Sprintf(fixOptIn, i.region)
	}
	return ""
}

// adviseOnCredentials returns the advice for credentials that cannot be loaded, or "" if the general
// one is all there is. The SDK has no types for most of these errors.
func adviseOnCredentials(text, profile string) string {
	switch {
	case strings.Contains(text, "GetRoleCredentials") && strings.Contains(text, "ForbiddenException"):
		return fixAssignment
	case strings.Contains(text, "SSO"):
		return fmt.Sprintf(fixSSO, profileFlag(profile))
	case strings.Contains(text, "AssumeRole"):
		return fixTrust
	case profile != "":
		return fmt.Sprintf(fixProfile, profile)
	}
	return ""
}

// profileFlag returns the flag of a command of the AWS CLI, which reads AWS_PROFILE by itself.
func profileFlag(profile string) string {
	if profile == "" {
		return ""
	}
	return " --profile " + profile
}
