package policy_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/aws/policy"
	edgetest "github.com/det-deploy/det-deploy/test/contract/edge"
	"github.com/det-deploy/det-deploy/test/golden"
)

var lab = policy.Scope{Account: "123456789012", Region: "us-west-2", Cluster: "lab"}

// given is a cluster with existing resources of the user.
var given = policy.Scope{
	Account: "123456789012", Region: "us-west-2", Cluster: "lab", DataBucket: "checkpoints", LogGroup: "/ml/det",
	MasterRole: "arn:aws:iam::123456789012:role/ml/master", AgentRole: "arn:aws:iam::123456789012:role/ml/agent",
	Volume: "vol-0ab1", Secrets: []string{"ml/db-url"},
	Keys: []string{"arn:aws:kms:us-west-2:123456789012:key/0ab1"},
}

// The list of calls, the table of actions and the policies agree: every call is granted, and every
// granted action belongs to a call, except for the extras with their reasons.
func TestPoliciesGrantExactlyTheCalls(t *testing.T) {
	t.Parallel()
	var callers []string
	for _, who := range policy.Everybody() {
		callers = append(callers, string(who))
	}
	edgetest.Grants{
		Calls: api.Calls(), Callers: callers, Unmade: policy.Unmade(), Extras: extrasOf, Granted: actionsOf,
		CalledBy: func(op string) []string {
			var out []string
			for _, who := range policy.CalledBy(op) {
				out = append(out, string(who))
			}
			return out
		},
	}.Check(t)
}

func extrasOf(caller string) []string {
	var out []string
	for _, e := range policy.Extras() {
		if slices.Contains(e.To, policy.Who(caller)) {
			out = append(out, e.Action)
		}
	}
	return out
}

func actionsOf(caller string) []string {
	var out []string
	for _, d := range policy.For(policy.Who(caller), lab) {
		out = append(out, d.Document.Actions()...)
	}
	return out
}

func TestEveryExtraHasAReasonAndAReceiver(t *testing.T) {
	t.Parallel()
	for _, e := range policy.Extras() {
		if e.Why == "" || len(e.To) == 0 {
			t.Errorf("%s: got %+v, want a reason and a receiver", e.Action, e)
		}
	}
}

func TestGoldenDocuments(t *testing.T) {
	t.Parallel()
	for _, scope := range []struct {
		name string
		s    policy.Scope
	}{{"any", policy.Scope{}}, {"lab", lab}, {"given", given}} {
		var all []policy.Named
		for _, who := range policy.Everybody() {
			all = append(all, policy.For(who, scope.s)...)
		}
		for _, d := range all {
			name := scope.name + "-" + d.Name
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				got := d.Document.String()
				file := filepath.Join("testdata", name+".golden")
				golden.Compare(t, file, got)
			})
		}
	}
}

// An existing bucket, volume, log group or secret is used and never changed; an upgrade creates a
// snapshot of an existing volume.
func TestPoliciesNeverChangeExistingResources(t *testing.T) {
	t.Parallel()
	allowed := map[string][]string{}
	for _, d := range policy.Caller(given) {
		for _, st := range d.Document.Statement {
			for _, r := range st.Resource {
				for _, name := range []string{":::checkpoints", "volume/vol-0ab1", "log-group:/ml/det", "secret:ml/db-url"} {
					if strings.Contains(r, name) {
						allowed[name] = append(allowed[name], st.Action...)
					}
				}
			}
		}
	}
	for name, all := range allowed {
		slices.Sort(all)
		allowed[name] = slices.Compact(all)
	}
	want := map[string][]string{
		":::checkpoints":    {"s3:ListBucket"},
		"volume/vol-0ab1":   {"ec2:AttachVolume", "ec2:CreateSnapshot", "ec2:DetachVolume"},
		"log-group:/ml/det": {"logs:FilterLogEvents"},
		"secret:ml/db-url":  {"secretsmanager:DescribeSecret", "secretsmanager:GetSecretValue"},
	}
	if d := cmp.Diff(allowed, want); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
}

// IAM limits attached managed policies to 6,144 characters, not counting whitespace.
func TestPoliciesAreWithinSizeLimit(t *testing.T) {
	t.Parallel()
	long := given
	long.Cluster = strings.Repeat("x", 32)
	for _, who := range policy.Everybody() {
		for _, s := range []policy.Scope{{}, lab, given, long} {
			for _, d := range policy.For(who, s) {
				if got := len(d.Document.Compact()); got > policy.SizeLimit {
					t.Errorf("%s of cluster %q: got %d characters, want at most %d", d.Name, s.Cluster, got, policy.SizeLimit)
				}
			}
		}
	}
}

func TestMasterPolicyIsLimitedToCluster(t *testing.T) {
	t.Parallel()
	for _, st := range policy.Master(lab).Statement {
		open := len(st.Resource) == 1 && st.Resource[0] == "*"
		looks := slices.Equal(st.Action, []string{"ec2:DescribeInstances", "ec2:DescribeSpotInstanceRequests"})
		if open && !looks && st.Sid != "OpenSessions" && len(st.Condition) == 0 {
			t.Errorf("%s: got %v on everything without a condition", st.Sid, st.Action)
		}
		if slices.Contains(st.Action, "iam:PassRole") && !slices.Equal(st.Resource, []string{"arn:aws:iam::123456789012:role/det-deploy/lab/det-deploy-lab-agent"}) {
			t.Errorf("got PassRole on %v, want the agents' role only", st.Resource)
		}
		if slices.Contains(st.Action, "s3:PutObject") && strings.Contains(st.Resource[0], "det-deploy-lab-123456789012/") &&
			!strings.HasSuffix(st.Resource[0], "/status/*") {
			t.Errorf("got writing to %v, want status/* only", st.Resource)
		}
	}
	if strings.Contains(policy.Agent(lab).String(), "det-deploy-lab-123456789012") {
		t.Error("got an agent that may touch the control bucket")
	}
	closed := lab
	closed.NoSessions = true
	if strings.Contains(policy.Master(closed).String()+policy.Agent(closed).String(), "ssm") {
		t.Error("got Session Manager without having asked for it")
	}
}

// The instance profile of an agents' role that exists may have any name, so the master reads it.
func TestMasterReadsProfileOfExistingRole(t *testing.T) {
	t.Parallel()
	for _, st := range policy.Master(given).Statement {
		if slices.Contains(st.Action, "iam:GetInstanceProfile") {
			if want := []string{"arn:aws:iam::123456789012:instance-profile/*"}; !slices.Equal(st.Resource, want) {
				t.Errorf("got %v, want %v", st.Resource, want)
			}
			return
		}
	}
	t.Error("got a master that does not know its agents' role")
}
