package api_test

import (
	"errors"
	"net/http"
	"testing"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
)

// The bodies are those of Google's services.
func TestRefusalsAreTranslated(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		status int
		body   string
		kind   cloud.Kind
		text   string
		fix    string
	}{
		{
			"a quota of the region", 403,
			`{"error":{"code":403,"message":"Quota 'CPUS' exceeded.  Limit: 24.0 in region us-central1.","errors":[{"message":"Quota 'CPUS' exceeded.  Limit: 24.0 in region us-central1.","domain":"usageLimits","reason":"quotaExceeded"}],"details":[{"@type":"type.googleapis.com/google.cloud.compute.v1.QuotaExceededInfo","metricName":"compute.googleapis.com/cpus","limitName":"CPUS-per-project-region","limit":24,"dimensions":{"region":"us-central1"}}]}}`,
			cloud.Quota, "compute.networks.insert: Quota 'CPUS' exceeded.  Limit: 24.0 in region us-central1 (quotaExceeded)",
			"the limit of CPUS-per-project-region (compute.googleapis.com/cpus) is 24 in us-central1: request a higher quota on the Quotas page of the Google Cloud console, or use fewer resources",
		},
		{
			"too many calls", 403,
			`{"error":{"code":403,"message":"Rate Limit Exceeded","errors":[{"message":"Rate Limit Exceeded","domain":"usageLimits","reason":"rateLimitExceeded"}]}}`,
			cloud.RateLimited, "", "",
		},
		{
			"too many calls of a newer service", 429,
			`{"error":{"code":429,"message":"Quota exceeded for quota metric 'Write requests' and limit 'Write requests per minute' of service 'iam.googleapis.com'.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"RATE_LIMIT_EXCEEDED","domain":"googleapis.com","metadata":{"service":"iam.googleapis.com"}}]}}`,
			cloud.RateLimited, "", "",
		},
		{
			"too many of a kind, by a newer service", 429,
			`{"error":{"code":429,"message":"Maximum number of service accounts on project reached.","status":"RESOURCE_EXHAUSTED"}}`,
			cloud.Quota, "", "request a higher quota on the Quotas page of the Google Cloud console, or use fewer resources",
		},
		{
			"not allowed", 403,
			`{"error":{"code":403,"message":"Required 'compute.networks.create' permission for 'projects/vision-lab/global/networks/x'","errors":[{"message":"Required 'compute.networks.create' permission for 'projects/vision-lab/global/networks/x'","domain":"global","reason":"forbidden"}]}}`,
			cloud.Denied, "", "ask an administrator of project vision-lab to grant your account compute.networks.create",
		},
		{
			"an API that is not enabled", 403,
			`{"error":{"code":403,"message":"Compute Engine API has not been used in project vision-lab before or it is disabled.","errors":[{"message":"Compute Engine API has not been used in project vision-lab before or it is disabled.","domain":"usageLimits","reason":"accessNotConfigured"}],"status":"PERMISSION_DENIED","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"SERVICE_DISABLED","domain":"googleapis.com","metadata":{"consumer":"projects/123","service":"compute.googleapis.com"}}]}}`,
			cloud.Denied, "", "enable it with `gcloud services enable compute.googleapis.com --project vision-lab`, and wait a few minutes until it takes effect",
		},
		{
			"an API that is not enabled, without details", 403,
			`{"error":{"code":403,"message":"Access Not Configured.","errors":[{"message":"Access Not Configured.","domain":"usageLimits","reason":"accessNotConfigured"}]}}`,
			cloud.Denied, "", "enable it with `gcloud services enable compute.googleapis.com --project vision-lab`, and wait a few minutes until it takes effect",
		},
		{
			"a perimeter", 403,
			`{"error":{"code":403,"message":"Request is prohibited by organization's policy. vpcServiceControlsUniqueIdentifier: VQQnKfXt","status":"PERMISSION_DENIED","details":[{"@type":"type.googleapis.com/google.rpc.PreconditionFailure","violations":[{"type":"VPC_SERVICE_CONTROLS","description":"VQQnKfXt"}]},{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"SECURITY_POLICY_VIOLATED","domain":"googleapis.com","metadata":{"service":"storage.googleapis.com","consumer":"projects/vision-lab"}}]}}`,
			cloud.Denied, "", "call from inside the perimeter of VPC Service Controls around project vision-lab, or ask its administrator for an ingress rule for your account",
		},
		{
			"a perimeter, without details", 403,
			`{"error":{"code":403,"message":"Request is prohibited by organization's policy. vpcServiceControlsUniqueIdentifier: VQQnKfXt","errors":[{"message":"Request is prohibited by organization's policy. vpcServiceControlsUniqueIdentifier: VQQnKfXt","domain":"global","reason":"forbidden"}]}}`,
			cloud.Denied, "", "call from inside the perimeter of VPC Service Controls around project vision-lab, or ask its administrator for an ingress rule for your account",
		},
		{
			"no billing account", 403,
			`{"error":{"code":403,"message":"This API method requires billing to be enabled.","status":"PERMISSION_DENIED","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"BILLING_DISABLED","domain":"googleapis.com"}]}}`,
			cloud.Denied, "", "link project vision-lab to an open billing account",
		},
		{
			"billing is not enabled", 403,
			`{"error":{"code":403,"message":"Project has not enabled billing.","errors":[{"message":"Project has not enabled billing.","domain":"usageLimits","reason":"billingNotEnabled"}]}}`,
			cloud.Denied, "", "link project vision-lab to an open billing account",
		},
		{
			"an organization policy", 412,
			`{"error":{"code":412,"message":"Constraint constraints/compute.skipDefaultNetworkCreation violated for project 123.","errors":[{"message":"Constraint constraints/compute.skipDefaultNetworkCreation violated for project 123.","domain":"global","reason":"conditionNotMet","location":"If-Match","locationType":"header"}]}}`,
			cloud.Denied, "", "choose a value that the organization policy allows, or ask its administrator to change it",
		},
		{
			"a token without the scope", 403,
			`{"error":{"code":403,"message":"Request had insufficient authentication scopes.","errors":[{"message":"Insufficient Permission","domain":"global","reason":"insufficientPermissions"}],"status":"PERMISSION_DENIED","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"ACCESS_TOKEN_SCOPE_INSUFFICIENT","domain":"googleapis.com"}]}}`,
			cloud.Denied, "", "grant the machine or the credentials the scope https://www.googleapis.com/auth/cloud-platform",
		},
		{
			"a person without a project that pays", 403,
			`{"error":{"code":403,"message":"Your application is authenticating by using local Application Default Credentials. The iam.googleapis.com API requires a quota project, which is not set by default.","status":"PERMISSION_DENIED"}}`,
			cloud.Denied, "", "set a quota project with `gcloud auth application-default set-quota-project vision-lab`",
		},
		{
			"a token that has ended", 401,
			`{"error":{"code":401,"message":"Request had invalid authentication credentials.","errors":[{"message":"Invalid Credentials","domain":"global","reason":"authError"}],"status":"UNAUTHENTICATED"}}`,
			cloud.Denied, "", "log in with `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS",
		},
		{
			"the name is taken", 409,
			`{"error":{"code":409,"message":"The resource 'projects/vision-lab/global/networks/x' already exists","errors":[{"message":"The resource 'projects/vision-lab/global/networks/x' already exists","domain":"global","reason":"alreadyExists"}]}}`,
			cloud.Conflict, "", "",
		},
		{
			"in use", 400,
			`{"error":{"code":400,"message":"The network resource 'projects/vision-lab/global/networks/x' is already being used by 'projects/vision-lab/global/firewalls/y'","errors":[{"message":"The network resource 'projects/vision-lab/global/networks/x' is already being used by 'projects/vision-lab/global/firewalls/y'","domain":"global","reason":"resourceInUseByAnotherResource"}]}}`,
			cloud.Conflict, "", "",
		},
		{
			"not ready", 400,
			`{"error":{"code":400,"message":"The resource 'projects/vision-lab/global/networks/x' is not ready","errors":[{"message":"The resource 'projects/vision-lab/global/networks/x' is not ready","domain":"global","reason":"resourceNotReady"}]}}`,
			cloud.Conflict, "", "",
		},
		{
			"an old fingerprint", 412,
			`{"error":{"code":412,"message":"Labels fingerprint either invalid or resource labels have changed","errors":[{"message":"Labels fingerprint either invalid or resource labels have changed","domain":"global","reason":"conditionNotMet","location":"If-Match","locationType":"header"}]}}`,
			cloud.Conflict, "", "",
		},
		{
			"an old etag of a policy", 409,
			`{"error":{"code":409,"message":"There were concurrent policy changes. Please retry the whole read-modify-write with exponential backoff.","status":"ABORTED"}}`,
			cloud.Conflict, "", "",
		},
		{
			"a service account that is not known yet", 400,
			`{"error":{"code":400,"message":"Service account det-m-lab@vision-lab.iam.gserviceaccount.com does not exist.","status":"INVALID_ARGUMENT"}}`,
			cloud.NotFound, "", "",
		},
		{
			"a type that the zone does not have", 400,
			`{"error":{"code":400,"message":"Invalid value for field 'resource.machineType': Machine type with name 'g2-standard-4' does not exist in zone 'us-central1-f'.","errors":[{"message":"Invalid value for field 'resource.machineType': Machine type with name 'g2-standard-4' does not exist in zone 'us-central1-f'.","domain":"global","reason":"invalid"}]}}`,
			cloud.NoCapacity, "", "choose another zone or type: `gcloud compute machine-types list` and `gcloud compute accelerator-types list` show the zones of each type",
		},
		{
			"an accelerator that the zone does not have", 404,
			`{"error":{"code":404,"message":"The resource 'projects/vision-lab/zones/us-central1-f/acceleratorTypes/nvidia-l4' was not found","errors":[{"message":"The resource 'projects/vision-lab/zones/us-central1-f/acceleratorTypes/nvidia-l4' was not found","domain":"global","reason":"notFound"}]}}`,
			cloud.NoCapacity, "", "choose another zone or type: `gcloud compute machine-types list` and `gcloud compute accelerator-types list` show the zones of each type",
		},
		{
			"a wrong value", 400,
			`{"error":{"code":400,"message":"Invalid value for field 'resource.name': 'UPPER'. Must be a match of regex '[a-z]([-a-z0-9]*[a-z0-9])?'","errors":[{"message":"Invalid value for field 'resource.name': 'UPPER'. Must be a match of regex '[a-z]([-a-z0-9]*[a-z0-9])?'","domain":"global","reason":"invalid"}]}}`,
			cloud.Invalid, "", "",
		},
		{
			"not there", 404,
			`{"error":{"code":404,"message":"The resource 'projects/vision-lab/global/networks/x' was not found","errors":[{"message":"The resource 'projects/vision-lab/global/networks/x' was not found","domain":"global","reason":"notFound"}]}}`,
			cloud.NotFound, "compute.networks.insert: The resource 'projects/vision-lab/global/networks/x' was not found (notFound)", "",
		},
		{
			"an unknown code", 400,
			`{"error":{"code":400,"message":"odd","errors":[{"message":"odd","domain":"global","reason":"whoKnows"}]}}`,
			cloud.Invalid, "compute.networks.insert: odd (whoKnows)", "",
		},
		{"a page of a proxy", 407, "<html>who are you?", cloud.Invalid, "compute.networks.insert: HTTP status 407 Proxy Authentication Required with a response that is not from the API", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := clients(t, func(r *http.Request) (*http.Response, error) { return answer(r, tc.status, tc.body), nil }, api.Options{})
				wantRefusal(t, api.Run(t.Context(), c, c.Compute.Networks.Insert(c.Project, &compute.Network{Name: "x"})), tc.kind, tc.text, tc.fix)
			})
		})
	}
}

func wantRefusal(t *testing.T, err error, kind cloud.Kind, text, fix string) {
	t.Helper()
	e, ok := errors.AsType[*cloud.Error](err)
	if !ok || e.Kind != kind {
		t.Fatalf("got kind %q of %v, want %q", cloud.KindOf(err), err, kind)
	}
	if text != "" && err.Error() != text {
		t.Errorf("got  %q\nwant %q", err, text)
	}
	if e.Fix != fix {
		t.Errorf("fix: got  %q\nwant %q", e.Fix, fix)
	}
}

// The same codes as errors of operations.
func TestRefusalsInsideOperationsAreTranslated(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, failure string
		kind          cloud.Kind
		text, fix     string
	}{
		{
			"no capacity",
			`"errors":[{"code":"ZONE_RESOURCE_POOL_EXHAUSTED","message":"The zone 'projects/vision-lab/zones/us-central1-a' does not have enough resources available to fulfill the request.  Try a different zone, or try again later."}]`,
			cloud.NoCapacity,
			"compute.instances.insert: The zone 'projects/vision-lab/zones/us-central1-a' does not have enough resources available to fulfill the request.  Try a different zone, or try again later (ZONE_RESOURCE_POOL_EXHAUSTED)",
			"allow more zones or other machine types, or try again later",
		},
		{
			"no capacity, with details",
			`"errors":[{"code":"ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS","message":"none","errorDetails":[{"errorInfo":{"domain":"compute.googleapis.com","reason":"stockout","metadatas":{"zone":"us-central1-a"}}}]}]`,
			cloud.NoCapacity, "", "allow more zones or other machine types, or try again later",
		},
		{
			"a quota",
			`"errors":[{"code":"QUOTA_EXCEEDED","message":"Quota 'GPUS_ALL_REGIONS' exceeded.  Limit: 0.0 globally.","errorDetails":[{"quotaInfo":{"metricName":"compute.googleapis.com/gpus_all_regions","limitName":"GPUS-ALL-REGIONS-per-project","limit":0,"dimensions":{"global":"global"}}}]}]`,
			cloud.Quota, "compute.instances.insert: Quota 'GPUS_ALL_REGIONS' exceeded.  Limit: 0.0 globally (QUOTA_EXCEEDED)",
			"the limit of GPUS-ALL-REGIONS-per-project (compute.googleapis.com/gpus_all_regions) is 0: request a higher quota on the Quotas page of the Google Cloud console, or use fewer resources",
		},
		{
			"no addresses", `"errors":[{"code":"IP_SPACE_EXHAUSTED","message":"IP space of 'projects/vision-lab/regions/us-central1/subnetworks/x' is exhausted."}]`,
			cloud.NoCapacity, "", "use a subnetwork with a larger address range",
		},
		{
			"an organization policy", `"errors":[{"code":"CONDITION_NOT_MET","message":"Constraint constraints/compute.vmExternalIpAccess violated for project 123."}]`,
			cloud.Denied, "", "choose a value that the organization policy allows, or ask its administrator to change it",
		},
		{"in use", `"errors":[{"code":"RESOURCE_IN_USE_BY_ANOTHER_RESOURCE","message":"in use"}]`, cloud.Conflict, "", ""},
		{"gone", `"errors":[{"code":"RESOURCE_NOT_FOUND","message":"The resource 'projects/vision-lab/zones/us-central1-a/disks/x' was not found"}]`, cloud.NotFound, "", ""},
		{"out of order", `"errors":[{"code":"INTERNAL_ERROR","message":"Internal error. Please try again or contact Google Support."}]`, cloud.Ambiguous, "", ""},
		{
			"the second is more specific", `"errors":[{"code":"WHO_KNOWS","message":"odd"},{"code":"QUOTA_EXCEEDED","message":"Quota exceeded"}]`,
			cloud.Quota, "compute.instances.insert: Quota exceeded (QUOTA_EXCEEDED)", "request a higher quota on the Quotas page of the Google Cloud console, or use fewer resources",
		},
		{"an unknown code", `"errors":[{"code":"WHO_KNOWS","message":"odd"}]`, cloud.Invalid, "compute.instances.insert: odd (WHO_KNOWS)", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := clients(t, func(r *http.Request) (*http.Response, error) {
					return answer(r, 200, `{"name":"operation-1","status":"DONE","httpErrorStatusCode":400,"error":{`+tc.failure+`}}`), nil
				}, api.Options{})
				wantRefusal(t, api.Run(t.Context(), c, c.Compute.Instances.Insert(c.Project, "us-central1-a", &compute.Instance{Name: "x"})), tc.kind, tc.text, tc.fix)
			})
		})
	}
}
