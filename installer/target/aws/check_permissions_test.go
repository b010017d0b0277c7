package aws_test

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/policy"
	"github.com/det-deploy/det-deploy/installer/doctor"
	awstest "github.com/det-deploy/det-deploy/test/fake/aws"
)

// granted evaluates documents as IAM does, as far as these documents need: an action is allowed on
// a resource that a statement names or matches, if its conditions hold or cannot be evaluated.
func granted(docs []policy.Named) awstest.Granted {
	return func(action, resource string, tags map[string]string) (allowed bool, missing []string) {
		for _, d := range docs {
			for _, s := range d.Document.Statement {
				within := slices.ContainsFunc(s.Resource, func(r string) bool { return matches(r, resource) })
				if !slices.Contains(s.Action, action) || !within {
					continue
				}
				unmet := unmet(s, tags)
				if len(unmet) == 0 {
					return true, nil
				}
				missing = append(missing, unmet...)
			}
		}
		return false, missing
	}
}

func matches(pattern, resource string) bool {
	ok, err := path.Match(strings.ReplaceAll(pattern, "/", ":"), strings.ReplaceAll(resource, "/", ":"))
	return err == nil && ok
}

func unmet(s policy.Statement, tags map[string]string) []string {
	var out []string
	for _, keys := range s.Condition {
		for key, values := range keys {
			if key == "ec2:CreateAction" && tags != nil {
				continue // the condition is on the action itself
			}
			tag, isTag := strings.CutPrefix(key, "aws:RequestTag/")
			if !isTag || !slices.ContainsFunc(values, func(v string) bool { return tags[tag] != "" && matches(v, tags[tag]) }) {
				out = append(out, key)
			}
		}
	}
	return out
}

// The output of `det-deploy aws policy` suffices for `up`: its policies are limited to marked
// objects and some names, and so are the requests of `up`.
func TestCallerPoliciesSuffice(t *testing.T) {
	t.Parallel()
	lab := policy.Scope{Account: awstest.Account, Region: "us-west-2", Cluster: "lab"}
	less := policy.Caller(lab)
	less[1].Document.Statement = slices.DeleteFunc(less[1].Document.Statement, func(s policy.Statement) bool { return s.Sid == "Secrets" })
	for _, tc := range []struct {
		name  string
		docs  []policy.Named
		want  doctor.Answer
		found string
	}{
		{"those of the cluster", policy.Caller(lab), doctor.Pass, "actions are allowed"},
		{"those of any cluster", policy.Caller(policy.Scope{}), doctor.Pass, "actions are allowed"},
		{"all but one statement", less, doctor.Fail, "not allowed: secretsmanager:CreateSecret, secretsmanager:DeleteSecret"},
		{"those of another cluster", policy.Caller(policy.Scope{Account: awstest.Account, Region: "us-west-2", Cluster: "other"}), doctor.Fail, "ec2:CreateVpc"},
		{"none", nil, doctor.Fail, "ec2:CreateVpc"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(inMemory(awstest.Options{}))
			s.world.Grant(granted(tc.docs))
			if r := check(t, s)["permissions"]; r.Answer != tc.want || (r.Kind == cloud.Denied) != (tc.want == doctor.Fail) || !strings.Contains(r.Found, tc.found) {
				t.Errorf("got %s: %s, want %s with %q", r.Answer, r.Found, tc.want, tc.found)
			}
		})
	}
}
