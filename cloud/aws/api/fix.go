package api

// Advice for the user. {permissions} is replaced by the permissions that the call requires.
const (
	fixPolicy      = "allow {permissions}: `det-deploy aws policy` prints a policy that does"
	fixLogin       = "log in to AWS, or choose a profile with --profile or AWS_PROFILE"
	fixCredentials = "check the access key, or choose another profile with --profile or AWS_PROFILE"
	fixExpired     = "log in to AWS again: the session has ended"
	fixClock       = "check the secret access key, and that this machine's clock is right"
	fixAccount     = "finish opening the account for this region in the AWS console"
	fixQuota       = "ask for a higher limit in Service Quotas, or for less: `det-deploy aws doctor` shows limits and use"
	fixCapacity    = "allow more zones or other instance types: `det-deploy aws doctor` shows which zone has which"
	fixRegion      = "say where with --region, or set AWS_REGION"
)
