package aws_test

import (
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/det-deploy/det-deploy/cloud/aws/policy"
	"github.com/det-deploy/det-deploy/cloud/host/manifest"
	"github.com/det-deploy/det-deploy/installer/doctor"
	"github.com/det-deploy/det-deploy/installer/event"
	"github.com/det-deploy/det-deploy/master/config"
	awstest "github.com/det-deploy/det-deploy/test/fake/aws"
)

// giveProfile creates an instance profile with a role of another name and the permissions of
// machines.
func giveProfile(t *testing.T, c *cloudy, name string, document policy.Document) {
	t.Helper()
	i, role := c.clients(nil).IAM, name+"-role"
	_, err := i.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: &role, AssumeRolePolicyDocument: sdk.String(trustMachines)})
	must(t, err)
	_, err = i.PutRolePolicy(t.Context(), &iam.PutRolePolicyInput{RoleName: &role, PolicyName: sdk.String("p"), PolicyDocument: sdk.String(document.Compact())})
	must(t, err)
	_, err = i.CreateInstanceProfile(t.Context(), &iam.CreateInstanceProfileInput{InstanceProfileName: &name, Path: sdk.String("/ml/")})
	must(t, err)
	_, err = i.AddRoleToInstanceProfile(t.Context(), &iam.AddRoleToInstanceProfileInput{InstanceProfileName: &name, RoleName: &role})
	must(t, err)
}

// ownProfiles creates instance profiles for master and agents.
func ownProfiles(t *testing.T, c *cloudy) []string {
	t.Helper()
	scope := policy.Scope{Account: awstest.Account, Region: "us-west-2", Cluster: "lab", AgentRole: "arn:aws:iam::" + awstest.Account + ":role/agents-role"}
	giveProfile(t, c, "masters", policy.Master(scope))
	giveProfile(t, c, "agents", policy.Agent(scope))
	return []string{"master-instance-profile", "masters", "agent-instance-profile", "arn:aws:iam::" + awstest.Account + ":instance-profile/ml/agents"}
}

// Instance profiles of the user are used as they are: nothing of IAM is created or deleted.
func TestExistingInstanceProfiles(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := inMemory(awstest.Options{})
		s := newStage(c, ownProfiles(t, c)...)
		before := identities(s.world)
		for name, r := range check(t, s) {
			if r.Answer == doctor.Fail {
				t.Errorf("%s: got %s, fix %s", name, r.Found, r.Fix)
			}
		}
		must(t, s.Up(t.Context()))
		s.WantNothingToDo(t)
		if got := identities(s.world); got != before {
			t.Errorf("got %s, want only %s", got, before)
		}
		for _, i := range s.world.Instances() {
			if got := sdk.ToString(i.IamInstanceProfile.Arn); !strings.HasSuffix(got, ":instance-profile/ml/masters") {
				t.Errorf("the master has the profile %s", got)
			}
		}
		m, _, err := config.Parse(s.onMaster(t, manifest.ConfigFile), "master.yaml")
		must(t, err)
		for _, p := range m.ResourcePools {
			if got := p.Provider.AWS.IAMInstanceProfileARN; !strings.HasSuffix(got, ":instance-profile/ml/agents") {
				t.Errorf("pool %s has the profile %s", p.Name, got)
			}
		}
		_, err = s.Down(t.Context(), true)
		must(t, err)
		if got := identities(s.world); got != before {
			t.Errorf("after down: got %s, want %s", got, before)
		}
	})
}

func identities(w *awstest.World) string {
	var out []string
	for _, l := range w.Live() {
		if strings.HasPrefix(l, "role ") || strings.HasPrefix(l, "instance-profile ") {
			out = append(out, l)
		}
	}
	return strings.Join(out, ", ")
}

func TestInstanceProfileMustFit(t *testing.T) {
	t.Parallel()
	c := inMemory(awstest.Options{})
	giveProfile(t, c, "powerless", policy.Agent(policy.Scope{Cluster: "other"}))
	r := check(t, newStage(c, "master-instance-profile", "powerless"))["master's permissions"]
	if r.Answer != doctor.Fail || !strings.Contains(r.Found, "powerless-role may not ") {
		t.Errorf("got %s: %s, want what the profile's role may not do", r.Answer, r.Found)
	}
	_, err := c.clients(nil).IAM.CreateInstanceProfile(t.Context(), &iam.CreateInstanceProfileInput{InstanceProfileName: sdk.String("empty")})
	must(t, err)
	for name, want := range map[string][2]string{
		"empty":  {"instance profile empty: it has no role", "aws iam add-role-to-instance-profile"},
		"absent": {"read the existing instance profile absent: ", ""},
	} {
		_, _, err := newStage(c, "agent-instance-profile", name).operator(t.Context())
		if err == nil || !strings.Contains(err.Error(), want[0]) || !strings.Contains(event.Hint(err), want[1]) {
			t.Errorf("%s: got %v with the hint %q, want %q", name, err, event.Hint(err), want)
		}
	}
}
