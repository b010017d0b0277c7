package api

import (
	"slices"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/edge"
)

// Advice for the user. {permissions} is replaced by the permissions that the call requires,
// {project} and {service} by the facts of the response.
const (
	fixPermission = "ask an administrator of project {project} to grant your account {permissions}"
	fixLogin      = "log in with `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS"
	fixScope      = "grant the machine or the credentials the scope https://www.googleapis.com/auth/cloud-platform"
	fixEnable     = "enable it with `gcloud services enable {service} --project {project}`, and wait a few minutes until it takes effect"
	fixQuotaOwner = "set a quota project with `gcloud auth application-default set-quota-project {project}`"
	fixBilling    = "link project {project} to an open billing account"
	fixPolicy     = "choose a value that the organization policy allows, or ask its administrator to change it"
	fixPerimeter  = "call from inside the perimeter of VPC Service Controls around project {project}, or ask its administrator for an ingress rule for your account"
	fixQuota      = "request a higher quota on the Quotas page of the Google Cloud console, or use fewer resources"
	fixCapacity   = "allow more zones or other machine types, or try again later"
	fixAddresses  = "use a subnetwork with a larger address range"
	fixTypeInZone = "choose another zone or type: `gcloud compute machine-types list` and `gcloud compute accelerator-types list` show the zones of each type"
	fixProject    = "choose an existing project"
)

// errorRules returns the rules for all error codes with a specific meaning: reasons of the older
// services, statuses and ErrorInfo reasons of the newer ones, and codes in operations. A new code
// takes one line.
func errorRules() edge.Rules {
	return edge.Rules{
		Exact: slices.Concat(shortageRules(), delayRules(), policyRules(), denialRules(), missingRules(), conflictRules(), mistakeRules()),
	}
}

func ruleOf(kind cloud.Kind, fix string, codes ...string) []edge.Rule {
	var out []edge.Rule
	for _, code := range codes {
		out = append(out, edge.Rule{Code: code, Kind: kind, Fix: fix})
	}
	return out
}

// ruleContaining returns rules for codes with several meanings.
func ruleContaining(text string, kind cloud.Kind, fix string, codes ...string) []edge.Rule {
	out := ruleOf(kind, fix, codes...)
	for i := range out {
		out[i].Contains = text
	}
	return out
}

// wrongRequest returns the codes for invalid requests of the older services, the newer ones, and in
// operations.
func wrongRequest() []string {
	return []string{"invalid", "badRequest", "INVALID_ARGUMENT", "INVALID_FIELD_VALUE", "INVALID_USAGE"}
}

// shortageRules covers missing capacity and quotas of the project.
func shortageRules() []edge.Rule {
	return slices.Concat(
		ruleOf(cloud.NoCapacity, fixCapacity,
			"ZONE_RESOURCE_POOL_EXHAUSTED", "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", "insufficientCapacity", "INSUFFICIENT_CAPACITY",
			"RESOURCE_POOL_EXHAUSTED", "VM_MIN_COUNT_NOT_REACHED"),
		ruleOf(cloud.NoCapacity, fixAddresses, "IP_SPACE_EXHAUSTED", "IP_SPACE_EXHAUSTED_WITH_DETAILS", "ipSpaceExhausted"),
		ruleContaining("does not exist in zone", cloud.NoCapacity, fixTypeInZone, wrongRequest()...),
		ruleContaining("/machineTypes/", cloud.NoCapacity, fixTypeInZone, "notFound", "RESOURCE_NOT_FOUND"),
		ruleContaining("/acceleratorTypes/", cloud.NoCapacity, fixTypeInZone, "notFound", "RESOURCE_NOT_FOUND"),
		ruleOf(cloud.Quota, fixQuota, "QUOTA_EXCEEDED", "quotaExceeded", "dailyLimitExceeded", "limitExceeded"),
		ruleContaining("Maximum number of", cloud.Quota, fixQuota, "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION"),
	)
}

// delayRules covers throttling and outages.
func delayRules() []edge.Rule {
	return slices.Concat(
		ruleOf(cloud.RateLimited, "",
			"rateLimitExceeded", "userRateLimitExceeded", "RATE_LIMIT_EXCEEDED", "RESOURCE_EXHAUSTED", "resourceExhausted",
			"concurrentLimitExceeded", "RESOURCE_OPERATION_RATE_EXCEEDED"),
		ruleOf(cloud.Unavailable, "",
			"backendError", "internalError", "INTERNAL", "INTERNAL_ERROR", "UNAVAILABLE", "backendUnavailable", "DEADLINE_EXCEEDED"),
	)
}

// policyRules covers violations of organization policies, which are independent of the caller's
// permissions. They are reported under several codes and always name the constraint.
func policyRules() []edge.Rule {
	return slices.Concat(
		ruleOf(cloud.Denied, fixPolicy, "CUSTOM_ORG_POLICY_VIOLATION", "ORG_POLICY_VIOLATION", "orgPolicyViolation"),
		ruleContaining("constraints/", cloud.Denied, fixPolicy,
			append(wrongRequest(), "conditionNotMet", "CONDITION_NOT_MET", "FAILED_PRECONDITION", "failedPrecondition", "forbidden", "PERMISSION_DENIED")...),
	)
}

// denialRules covers missing permissions and invalid credentials.
func denialRules() []edge.Rule {
	return slices.Concat(
		ruleOf(cloud.Denied, fixEnable, "accessNotConfigured", "SERVICE_DISABLED"),
		ruleOf(cloud.Denied, fixPerimeter, "SECURITY_POLICY_VIOLATED", "vpcServiceControls"),
		ruleContaining("vpcServiceControlsUniqueIdentifier", cloud.Denied, fixPerimeter, "forbidden", "PERMISSION_DENIED", "accessDenied"),
		ruleOf(cloud.Denied, fixBilling, "billingNotEnabled", "BILLING_DISABLED", "accountDisabled"),
		ruleOf(cloud.Denied, fixScope, "ACCESS_TOKEN_SCOPE_INSUFFICIENT"),
		ruleContaining("insufficient authentication scopes", cloud.Denied, fixScope, "insufficientPermissions", "forbidden", "PERMISSION_DENIED"),
		ruleOf(cloud.Denied, fixQuotaOwner, "USER_PROJECT_DENIED"),
		ruleContaining("requires a quota project", cloud.Denied, fixQuotaOwner, "forbidden", "PERMISSION_DENIED"),
		ruleOf(cloud.Denied, fixProject, "CONSUMER_INVALID"),
		ruleOf(cloud.Denied, fixLogin, "UNAUTHENTICATED", "authError", "required_login", "ACCESS_TOKEN_EXPIRED", "CREDENTIALS_MISSING"),
		ruleOf(cloud.Denied, fixPermission, "forbidden", "PERMISSION_DENIED", "IAM_PERMISSION_DENIED", "insufficientPermissions", "PERMISSIONS_ERROR", "accessDenied"),
	)
}

// LacksPermission reports whether a call was denied because the caller lacks a permission, and not for its
// credentials, a disabled API or a policy. Google denies access to objects of other projects in the same way.
func LacksPermission(err error) bool {
	if cloud.KindOf(err) != cloud.Denied {
		return false
	}
	r, known := errorRules().Find(edge.CodeOf(err), err.Error())
	return known && r.Fix == fixPermission
}

// missingRules covers objects that do not exist or are not visible yet. For up to a minute, some
// services do not know a new service account and return an invalid argument.
func missingRules() []edge.Rule {
	return slices.Concat(
		ruleOf(cloud.NotFound, "", "notFound", "NOT_FOUND", "RESOURCE_NOT_FOUND", "SERVICE_ACCOUNT_NOT_FOUND"),
		ruleContaining("does not exist", cloud.NotFound, "", wrongRequest()...),
		ruleContaining("was not found", cloud.NotFound, "", wrongRequest()...),
	)
}

// conflictRules covers objects in an unexpected state.
func conflictRules() []edge.Rule {
	return ruleOf(cloud.Conflict, "",
		"alreadyExists", "duplicate", "ALREADY_EXISTS", "RESOURCE_ALREADY_EXISTS", "conflict",
		"resourceInUseByAnotherResource", "RESOURCE_IN_USE_BY_ANOTHER_RESOURCE", "resourceInUse", "RESOURCE_IN_USE", "resourceNotReady", "RESOURCE_NOT_READY",
		"conditionNotMet", "CONDITION_NOT_MET", "preconditionFailed", "failedPrecondition", "FAILED_PRECONDITION", "ABORTED", "aborted")
}

// mistakeRules covers permanently invalid requests.
func mistakeRules() []edge.Rule {
	return ruleOf(cloud.Invalid, "", append(wrongRequest(),
		"required", "invalidParameter", "parseError", "unsupportedOperation", "UNSUPPORTED_OPERATION", "OUT_OF_RANGE", "UNIMPLEMENTED")...)
}
