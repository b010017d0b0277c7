package api

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
)
