package api

import (
	"errors"
	"strings"

	"github.com/aws/smithy-go"

	"github.com/det-deploy/det-deploy/cloud"
)

// What a person can do. {actions} is replaced by what the call needs.
const (
	fixPolicy      = "allow {actions}: `det-deploy aws policy` prints a policy that does"
	fixCredentials = "check the access key, or choose another profile with --profile or AWS_PROFILE"
	fixExpired     = "log in to AWS again: the session has ended"
	fixClock       = "check the secret access key, and that this machine's clock is right"
	fixAccount     = "finish opening the account for this region in the AWS console"
	fixQuota       = "ask for a higher limit in Service Quotas, or for less: `det-deploy aws doctor` shows limits and use"
	fixCapacity    = "allow more zones or other instance types: `det-deploy aws doctor` shows which zone has which"
	fixRegion      = "say where with --region, or set AWS_REGION"
)

// Fixes lists every hint, so that a test can hold the commands and flags they
// name to those that exist.
func Fixes() []string {
	out := []string{fixPolicy, fixCredentials, fixExpired, fixClock, fixAccount, fixQuota, fixCapacity, fixRegion}
	for _, r := range rules() {
		if r.fix != "" {
			out = append(out, r.fix)
		}
	}
	return out
}

func fixOf(op string, kind cloud.Kind, err error) string {
	if unsigned(err) {
		return "log in to AWS, or choose a profile with --profile or AWS_PROFILE"
	}
	fix := ""
	if e, ok := errors.AsType[smithy.APIError](err); ok {
		r, _ := ruleOf(e.ErrorCode(), e.ErrorMessage()) // no rule: no fix
		fix = r.fix
	}
	if fix == "" && kind == cloud.Denied {
		fix = fixPolicy
	}
	return strings.ReplaceAll(fix, "{actions}", actionsText(op))
}

func actionsText(op string) string {
	c, found := Find(op)
	if !found || len(c.Actions) == 0 {
		return op
	}
	return strings.Join(c.Actions, ", ")
}
