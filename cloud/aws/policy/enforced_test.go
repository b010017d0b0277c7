package policy_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/aws/policy"
	awstest "github.com/det-deploy/det-deploy/test/fake/aws"
	motest "github.com/det-deploy/det-deploy/test/moto"
)

// With its own policies and a valid signature, each caller may make its own calls and no others.
// moto evaluates actions, but neither conditions nor the ARNs of EC2, so those are not tested.
func TestCallersMayMakeOnlyTheirOwnCalls(t *testing.T) {
	t.Parallel()
	for _, who := range policy.Everybody() {
		t.Run(string(who), func(t *testing.T) {
			t.Parallel()
			a := motest.Open(t)
			clients := as(t, a, who)
			a.Enforce(t, true)
			for op, call := range calls(t, clients) {
				service, _, _ := strings.Cut(op, ":")
				if service == "servicequotas" || service == "cloudwatch" || service == "s3" {
					continue // moto does not implement these, or requires actions other than Amazon's
				}
				want := granted(who, op)
				err := answerOf(call)
				if denied := cloud.KindOf(err) == cloud.Denied; denied == want {
					t.Errorf("%s: got %v, want allowed: %t", op, err, want)
				}
			}
		})
	}
}

// answerOf makes a call until the API has answered it: on a busy machine, the emulator's web server rejects a
// request now and then before the API sees it.
func answerOf(call func() error) error {
	err := call()
	for again := 0; again < 3 && err != nil && strings.Contains(err.Error(), "not from the API"); again++ {
		err = call()
	}
	return err
}

// granted reports whether a caller's policies allow all actions that a call requires.
func granted(who policy.Who, op string) bool {
	var have []string
	for _, d := range policy.For(who, policy.Scope{}) {
		have = append(have, d.Document.Actions()...)
	}
	c, _ := api.Calls().Find(op) // op comes from the same list
	return !slices.ContainsFunc(c.Permissions, func(a string) bool { return !slices.Contains(have, a) })
}

// as returns the clients of a role with one caller's policies only.
func as(t *testing.T, a *motest.Account, who policy.Who) api.Clients {
	t.Helper()
	scope := policy.Scope{Account: a.ID, Region: motest.Region, Cluster: "lab"}
	arn := a.Role(t, "test-"+string(who), "")
	root := api.New(a.Config(), api.Options{})
	for _, d := range policy.For(who, scope) {
		_, err := root.IAM.PutRolePolicy(t.Context(), &iam.PutRolePolicyInput{RoleName: aws.String("test-" + string(who)), PolicyName: aws.String(d.Name), PolicyDocument: aws.String(d.Document.Compact())})
		if err != nil {
			t.Fatal(err)
		}
	}
	cfg := a.As(a.Assume(t, arn, string(who)))
	cfg.RetryMaxAttempts = 1 // retrying an unimplemented call is useless
	return api.New(cfg, api.Options{})
}

// calls returns all API calls, each with a valid input.
func calls(t *testing.T, c api.Clients) map[string]func() error {
	t.Helper()
	ops := make(map[string]string) // maps "ListBuckets" of a service's interface to "s3:ListBuckets"
	for _, call := range api.Calls() {
		service, name, _ := strings.Cut(call.Op, ":")
		ops[service+" "+name] = call.Op
	}
	prefix := map[string]string{
		"EC2": "ec2", "IAM": "iam", "STS": "sts", "S3": "s3", "Secrets": "secretsmanager", "SSM": "ssm", "Quotas": "servicequotas", "Logs": "logs", "Metrics": "cloudwatch",
	}
	out := make(map[string]func() error)
	all := reflect.ValueOf(c)
	for i := range all.NumField() {
		service, short := all.Field(i), prefix[all.Type().Field(i).Name]
		if service.Kind() != reflect.Interface {
			continue
		}
		for m := range service.Type().Methods() {
			in := reflect.New(m.Type.In(1).Elem())
			awstest.Sample(in.Interface())
			setPolicyDocuments(in.Elem())
			out[ops[short+" "+m.Name]] = func() error {
				err, _ := service.MethodByName(m.Name).Call([]reflect.Value{reflect.ValueOf(t.Context()), in})[1].Interface().(error)
				return err
			}
		}
	}
	return out
}

// trust allows EC2 to assume a role.
const trust = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}`

// setPolicyDocuments sets the policy document fields of an input.
func setPolicyDocuments(in reflect.Value) {
	text := trust
	for _, field := range []string{"PolicyDocument", "AssumeRolePolicyDocument"} {
		if f := in.FieldByName(field); f.IsValid() {
			f.Set(reflect.ValueOf(&text))
		}
	}
}

// iam:PassRole is restricted by the passed role.
func TestMasterMayPassAgentRoleOnly(t *testing.T) {
	t.Parallel()
	a := motest.Open(t)
	root := api.New(a.Config(), api.Options{})
	for _, name := range []string{"master", "agent"} {
		full := "det-deploy-lab-" + name
		in := &iam.CreateRoleInput{RoleName: &full, Path: aws.String("/det-deploy/lab/"), AssumeRolePolicyDocument: aws.String(trust)}
		if _, err := root.IAM.CreateRole(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		if _, err := root.IAM.CreateInstanceProfile(t.Context(), &iam.CreateInstanceProfileInput{InstanceProfileName: &full}); err != nil {
			t.Fatal(err)
		}
		if _, err := root.IAM.AddRoleToInstanceProfile(t.Context(), &iam.AddRoleToInstanceProfileInput{InstanceProfileName: &full, RoleName: &full}); err != nil {
			t.Fatal(err)
		}
	}
	master := as(t, a, policy.ByMaster)
	a.Enforce(t, true)
	for name, want := range map[string]cloud.Kind{"agent": "", "master": cloud.Denied} {
		_, err := master.EC2.RunInstances(t.Context(), launch("det-deploy-lab-"+name))
		if got := cloud.KindOf(err); got != want {
			t.Errorf("%s: got %q of %v, want %q", name, got, err, want)
		}
		if err != nil && !strings.Contains(fmt.Sprint(err), "iam:PassRole") {
			t.Errorf("%s: got %v, want the missing action named", name, err)
		}
	}
}

func launch(profile string) *ec2.RunInstancesInput {
	return &ec2.RunInstancesInput{
		ImageId: aws.String(motest.ImageAMD64), InstanceType: "t3.medium", MinCount: aws.Int32(1), MaxCount: aws.Int32(1), IamInstanceProfile: &types.IamInstanceProfileSpecification{Name: &profile},
	}
}
