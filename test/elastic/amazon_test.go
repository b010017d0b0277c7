package elastic_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/det-deploy/det-deploy/test/booter"
	"github.com/det-deploy/det-deploy/test/booter/ec2cloud"
	motest "github.com/det-deploy/det-deploy/test/moto"
)

// masterPolicy is the policy of the manuals, with the permission to pass the agents' role to
// machines.
const masterPolicy = `{"Version": "2012-10-17", "Statement": [
  {"Sid": "VisualEditor0", "Effect": "Allow", "Action": ["ec2:DescribeInstances", "ec2:TerminateInstances", "ec2:CreateTags",
    "ec2:RunInstances", "ec2:CancelSpotInstanceRequests", "ec2:RequestSpotInstances", "ec2:DescribeSpotInstanceRequests"], "Resource": "*"},
  {"Effect": "Allow", "Action": "iam:PassRole", "Resource": "%s"}]}`

// amazonPool configures an elastic pool; a test appends its own settings.
const amazonPool = `
bind_ip: 10.200.0.1
data_dir: DIR/master
security:
  tls: auto
  initial_user_password: ` + password + `
resource_pools:
  - pool_name: default
    provider:
      type: aws
      region: us-west-2
      master_url: ` + address + `
      image_id: ` + motest.ImageAMD64 + `
      iam_instance_profile_arn: PROFILE
      subnets: SUBNETS
      network_interface: {public_ip: true, security_group_id: GROUP}
      tag_key: cluster
      tag_value: lab
      instance_slots: 1
      agent_config_file_contents: {container_runtime: process, trust_users: true}
`

// amazon is an account with a role for the master and a network for its agents.
type amazon struct {
	lab     *booter.Lab
	account *motest.Account
	keys    aws.Credentials
	subnets []string
	// group is the agents' security group, profile their instance profile.
	group, profile string
	// endpoint is the address of the cloud's API: that of a proxy, or of the emulator.
	endpoint string
}

// onAmazon starts a master with a pool; extra is added to the pool's provider.
func onAmazon(t *testing.T, extra string) (*cluster, *amazon) {
	t.Helper()
	c, a := prepareAmazon(t)
	c.launch(a.fill(c, amazonPool) + indent(extra))
	return c, a
}

// fill replaces placeholders in a master's configuration file.
func (a *amazon) fill(c *cluster, yaml string) string {
	return strings.NewReplacer(
		"DIR", c.dir, "PROFILE", a.profile, "SUBNETS", "["+strings.Join(a.subnets, ", ")+"]", "GROUP", a.group,
	).Replace(yaml)
}

// prepareAmazon creates everything except the master. The account enforces its policies.
func prepareAmazon(t *testing.T) (*cluster, *amazon) {
	t.Helper()
	c := newCluster(t)
	server := motest.Serve(t, motest.Place{Address: booter.Gateway, Wrap: c.lab.Wrap(), Client: c.lab.Client()})
	a := &amazon{lab: c.lab, account: server.Account(t)}
	c.site, c.Booter = a, booter.Start(t, c.lab, ec2cloud.New(a.account))
	a.endpoint = a.account.Endpoint
	agent := a.account.Role(t, "agent", "")
	a.profile = strings.Replace(agent, ":role/", ":instance-profile/", 1)
	a.keys = a.account.Assume(t, a.account.Role(t, "master", fmt.Sprintf(masterPolicy, agent)), "i-00000000000000000")
	a.network(t)
	a.account.Enforce(t, true)
	return c, a
}

func (a *amazon) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := a.lab.Command(ctx, program, args...)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "AWS_ENDPOINT_URL=" + a.endpoint, "AWS_EC2_METADATA_DISABLED=true",
		"AWS_ACCESS_KEY_ID=" + a.keys.AccessKeyID, "AWS_SECRET_ACCESS_KEY=" + a.keys.SecretAccessKey, "AWS_SESSION_TOKEN=" + a.keys.SessionToken,
	}
	return cmd
}

func (a *amazon) machines(t testing.TB) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, m := range a.account.Machines(t) {
		out[m.ID] = m.State == "pending" || m.State == "running"
	}
	return out
}

// network selects two subnets of the account's default network and creates a security group.
func (a *amazon) network(t testing.TB) {
	t.Helper()
	client := ec2.NewFromConfig(a.account.Config())
	out, err := client.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{})
	if err != nil {
		t.Fatal(err)
	}
	a.subnets = []string{*out.Subnets[0].SubnetId, *out.Subnets[1].SubnetId}
	g, err := client.CreateSecurityGroup(t.Context(), &ec2.CreateSecurityGroupInput{
		GroupName: aws.String("agents"), Description: aws.String("agents"), VpcId: out.Subnets[0].VpcId,
	})
	if err != nil {
		t.Fatal(err)
	}
	a.group = *g.GroupId
}
