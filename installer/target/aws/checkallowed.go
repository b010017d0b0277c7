package aws

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/owner"
	"github.com/det-deploy/det-deploy/cloud/aws/policy"
	"github.com/det-deploy/det-deploy/installer/doctor"
	"github.com/det-deploy/det-deploy/installer/hosted"
)

// simulated is how many actions are asked about at once.
const simulated = 50

// permissions asks whether the caller may do what the installer does: by a dry run
// of what matters most, which tells the whole truth, and by a simulation of
// everything else, which does not see what the organisation forbids.
func (c *checks) permissions(ctx context.Context) doctor.Result {
	command := "`det-deploy aws policy" + c.scopeFlags() + "`"
	needed, fix := "the actions that "+command+" prints", "attach the output of "+command+" to your user or role"
	for _, try := range []func(context.Context) error{c.tryVPC, c.tryAddress} {
		if err := api.Allowed(try(ctx)); cloud.KindOf(err) == cloud.Denied {
			return hosted.Fail(err.Error(), needed, fix)
		}
	}
	if c.Caller.Root() {
		return hosted.Pass("the account's root user may do everything")
	}
	documents := policy.Caller(c.Scope())
	denied, err := c.simulate(ctx, c.facts.Principal(ctx, c.Caller), documents)
	switch {
	case err != nil:
		return hosted.Unsure("they cannot be simulated: "+err.Error(), needed, "go on: a call that is not allowed names its action and changes nothing else")
	case len(denied) > 0:
		return hosted.Fail("not allowed: "+strings.Join(denied, ", "), needed, fix)
	}
	return hosted.Pass("%d actions are allowed", len(actionsOf(documents)))
}

// broughtRoles is a check for each role that the user brings: what the machines
// need must be allowed to it, for nothing of it is changed.
func (c *checks) broughtRoles() []doctor.Check {
	var out []doctor.Check
	for _, r := range []struct {
		who  policy.Who
		role string
	}{{policy.ByMaster, c.Spec.Roles.Master}, {policy.ByAgent, c.Spec.Roles.Agent}} {
		if r.role == "" {
			continue
		}
		out = append(out, doctor.Check{
			Name: string(r.who) + "'s permissions", Look: func(ctx context.Context) doctor.Result { return c.roleMay(ctx, r.who, r.role) },
		})
	}
	return out
}

// roleMay simulates what a machine does with its role.
func (c *checks) roleMay(ctx context.Context, who policy.Who, role string) doctor.Result {
	command := fmt.Sprintf("`det-deploy aws policy %s --cluster-id %s%s`", who, c.Spec.Cluster, c.scopeFlags())
	needed := "the actions that " + command + " prints"
	documents := policy.For(who, c.Scope())
	denied, err := c.simulate(ctx, c.Known.Roles[role], documents)
	switch {
	case err != nil:
		return hosted.Unsure("they cannot be simulated: "+err.Error(), needed, "compare the role's policies with that output")
	case len(denied) > 0 && !slices.ContainsFunc(denied, func(a string) bool { return !slices.Contains(policy.Optional(), a) }):
		return hosted.Unsure(role+" may not "+strings.Join(denied, ", ")+"; the machines do without", needed, "see docs/reference/aws-permissions.md for what is missed without them")
	case len(denied) > 0:
		fix := fmt.Sprintf("attach the output of %s to the role, or leave --%s-role out", command, who)
		return hosted.Fail(role+" may not "+strings.Join(denied, ", "), needed, fix)
	}
	return hosted.Pass("%d actions are allowed", len(actionsOf(documents)))
}

// scopeFlags are the flags of `aws policy` for what the user brings. Of a role they
// say the ARN, for its name does not tell the path.
func (c *checks) scopeFlags() string {
	s := c.Scope()
	var b strings.Builder
	for _, f := range []struct{ flag, value string }{
		{"master-role", s.MasterRole},
		{"agent-role", s.AgentRole},
		{"data-bucket", s.DataBucket},
		{"data-volume", s.Volume},
		{"log-group", s.LogGroup},
		{"existing-secret", strings.Join(s.Secrets, ",")},
		{"kms-key", strings.Join(s.Keys, ",")},
	} {
		if f.value != "" {
			b.WriteString(" --" + f.flag + " " + f.value)
		}
	}
	if s.NoSessions {
		b.WriteString(" --session-manager=false")
	}
	return b.String()
}

func (c *checks) tryVPC(ctx context.Context) error {
	if !c.Spec.Network.Own() {
		_, err := c.Clients.EC2.CreateVolume(ctx, &ec2.CreateVolumeInput{
			DryRun: aws.Bool(true), AvailabilityZone: aws.String(c.Known.Master.Zone), Size: aws.Int32(1),
			TagSpecifications: c.marked(ec2types.ResourceTypeVolume),
		})
		return err
	}
	_, err := c.Clients.EC2.CreateVpc(ctx, &ec2.CreateVpcInput{
		DryRun: aws.Bool(true), CidrBlock: aws.String(c.Spec.Network.CIDR), TagSpecifications: c.marked(ec2types.ResourceTypeVpc),
	})
	return err
}

func (c *checks) tryAddress(ctx context.Context) error {
	_, err := c.Clients.EC2.AllocateAddress(ctx, &ec2.AllocateAddressInput{
		DryRun: aws.Bool(true), Domain: ec2types.DomainTypeVpc, TagSpecifications: c.marked(ec2types.ResourceTypeElasticIp),
	})
	return err
}

// marked is the cluster's mark, without which the policies allow nothing to be
// made.
func (c *checks) marked(kind ec2types.ResourceType) []ec2types.TagSpecification {
	mark := ec2types.Tag{Key: aws.String(owner.ClusterTag), Value: aws.String(c.Spec.Cluster)}
	return []ec2types.TagSpecification{{ResourceType: kind, Tags: []ec2types.Tag{mark}}}
}

// simulate lists the actions that are not allowed: neither everywhere, nor on what
// `det-deploy aws policy` limits them to.
func (c *checks) simulate(ctx context.Context, principal string, documents []policy.Named) ([]string, error) {
	denied, err := c.refused(ctx, principal, actionsOf(documents), nil)
	if err != nil {
		return nil, err
	}
	for _, d := range documents {
		for _, s := range d.Document.Statement {
			ask := slices.DeleteFunc(slices.Clone(s.Action), func(a string) bool { return !slices.Contains(denied, a) })
			if len(ask) == 0 || slices.Contains(s.Resource, "*") || s.Effect != "Allow" {
				continue
			}
			still, err := c.refused(ctx, principal, ask, s.Resource)
			if err != nil {
				return nil, err
			}
			denied = slices.DeleteFunc(denied, func(a string) bool { return slices.Contains(ask, a) && !slices.Contains(still, a) })
		}
	}
	return denied, nil
}

// refused lists those of actions that a simulation allows a principal on none of
// resources; without any it is asked about all resources at once.
func (c *checks) refused(ctx context.Context, principal string, actions, resources []string) ([]string, error) {
	allowed := map[string]bool{}
	for some := range slices.Chunk(actions, simulated) {
		p := iam.NewSimulatePrincipalPolicyPaginator(c.Clients.IAM, &iam.SimulatePrincipalPolicyInput{
			PolicySourceArn: aws.String(principal), ActionNames: some, ResourceArns: resources,
		})
		for p.HasMorePages() {
			page, err := p.NextPage(ctx)
			if err != nil {
				return nil, err
			}
			for _, r := range page.EvaluationResults {
				action := aws.ToString(r.EvalActionName)
				allowed[action] = allowed[action] || mayBe(r.EvalDecision, r.MissingContextValues)
				for _, one := range r.ResourceSpecificResults {
					allowed[action] = allowed[action] || mayBe(one.EvalResourceDecision, one.MissingContextValues)
				}
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(actions), func(a string) bool { return allowed[a] }), nil
}

// mayBe reports that an action is allowed, or that it depends on conditions, which
// a simulation does not see.
func mayBe(d types.PolicyEvaluationDecisionType, missing []string) bool {
	return d == types.PolicyEvaluationDecisionTypeAllowed || len(missing) > 0
}

// groups compares the user's security groups with the ports that the cluster
// needs.
func (c *checks) groups(ctx context.Context) doctor.Result {
	n := c.Spec.Network
	needed := fmt.Sprintf("groups of %s: agents reach the master on %d, the master and agents reach agents on all ports", n.VPC, hosted.MasterPort)
	ids := slices.DeleteFunc([]string{n.MasterSecurityGroup, n.AgentSecurityGroup}, func(s string) bool { return s == "" })
	out, err := c.Clients.EC2.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: ids})
	if err != nil {
		return hosted.Failed(err, needed)
	}
	var wrong, odd []string
	for _, g := range out.SecurityGroups {
		if aws.ToString(g.VpcId) != n.VPC {
			wrong = append(wrong, fmt.Sprintf("%s is in %s", aws.ToString(g.GroupId), aws.ToString(g.VpcId)))
		}
		wrong = append(wrong, c.closed(g)...)
		if aws.ToString(g.GroupId) == n.MasterSecurityGroup {
			odd = append(odd, c.shut(g)...)
		}
	}
	if len(wrong) > 0 {
		return hosted.Fail(strings.Join(wrong, "; "), needed, "open the ports, or leave the groups to the cluster: --master-security-group and --agent-security-group empty")
	}
	if len(odd) > 0 {
		return hosted.Unsure(strings.Join(odd, "; "), "an existing group that lets in who is to reach the master", "open the port there: an existing group is not changed")
	}
	return hosted.Pass("%s", strings.Join(ids, ", "))
}

// shut lists the ranges that are to reach the master and that its existing group
// does not name.
func (c *checks) shut(g ec2types.SecurityGroup) []string {
	var out []string
	for _, want := range c.inbound() {
		named := func(r ec2types.IpRange) bool {
			have, err := netip.ParsePrefix(aws.ToString(r.CidrIp))
			return err == nil && have.Bits() <= want.Bits() && have.Contains(want.Addr())
		}
		open := func(p ec2types.IpPermission) bool {
			return lets([]ec2types.IpPermission{p}, hosted.MasterPort, hosted.MasterPort) && (len(p.PrefixListIds) > 0 || slices.ContainsFunc(p.IpRanges, named))
		}
		if !slices.ContainsFunc(g.IpPermissions, open) {
			out = append(out, fmt.Sprintf("%s does not let %s in on port %d", aws.ToString(g.GroupId), want, hosted.MasterPort))
		}
	}
	return out
}

// closed lists what a group does not let in or out. Whether a range of addresses
// has the agents in it is for their owner to know: any source counts.
func (c *checks) closed(g ec2types.SecurityGroup) []string {
	var out []string
	id := aws.ToString(g.GroupId)
	if id == c.Spec.Network.MasterSecurityGroup && !lets(g.IpPermissions, hosted.MasterPort, hosted.MasterPort) {
		out = append(out, fmt.Sprintf("%s admits no address on port %d", id, hosted.MasterPort))
	}
	if id == c.Spec.Network.AgentSecurityGroup && !lets(g.IpPermissions, 1024, 65535) {
		out = append(out, id+" does not let the master and agents in on ports 1024 to 65535")
	}
	if !lets(g.IpPermissionsEgress, 443, 443) {
		out = append(out, id+" lets nothing out to the internet")
	}
	return out
}

func lets(ps []ec2types.IpPermission, from, to int32) bool {
	return slices.ContainsFunc(ps, func(p ec2types.IpPermission) bool {
		if len(p.IpRanges)+len(p.PrefixListIds)+len(p.UserIdGroupPairs) == 0 {
			return false // for nobody, or for IPv6, which the machines do not have
		}
		all := aws.ToString(p.IpProtocol) == "-1"
		tcp := aws.ToString(p.IpProtocol) == "tcp" || aws.ToString(p.IpProtocol) == "6"
		return all || tcp && aws.ToInt32(p.FromPort) <= from && aws.ToInt32(p.ToPort) >= to
	})
}
