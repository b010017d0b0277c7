package checks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/aws/policy"
	"github.com/det-deploy/det-deploy/installer/doctor"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// checkPermissions checks whether the caller may do what the installer does. It makes dry runs of
// the most important calls, which are reliable, and simulates all others; a simulation ignores the
// policies of the organization.
func (c *checker) checkPermissions(ctx context.Context) doctor.Result {
	command := "`det-deploy aws policy" + c.Scope.Flags() + "`"
	needed, fix := "the actions that "+command+" prints", "attach the output of "+command+" to your user or role"
	documents := policy.Caller(c.Scope)
	tried := make([]error, 2)
	var denied []string
	var err error
	var asked sync.WaitGroup
	for i, try := range []func(context.Context) error{c.tryVPC, c.tryAddress} {
		asked.Go(func() { tried[i] = api.Allowed(try(ctx)) })
	}
	if !c.Caller.Root() {
		asked.Go(func() { denied, err = c.facts.Refused(ctx, c.facts.Principal(ctx, c.Caller), documents) })
	}
	asked.Wait()
	for _, refused := range tried {
		if cloud.KindOf(refused) == cloud.Denied {
			return doctor.Failed(refused.Error(), needed, liftedBy(refused, fix)).As(cloud.Denied)
		}
	}
	switch {
	case c.Caller.Root():
		return doctor.Passed("the account's root user has all permissions")
	case err != nil:
		return doctor.Unsure("cannot simulate the permissions: "+err.Error(), needed, "continue: a denied call reports its action and changes nothing")
	case len(denied) > 0:
		return doctor.Failed("not allowed: "+strings.Join(denied, ", "), needed, fix).As(cloud.Denied)
	}
	return doctor.Passed("all %d actions are allowed", len(policy.Actions(documents)))
}

// liftedBy returns the remedy for a denied call: attach, or, if no policy of the caller can allow the
// call, that of the denial itself.
func liftedBy(denial error, attach string) string {
	if e, ok := errors.AsType[*cloud.Error](denial); ok && !api.ByPolicy(e) {
		return e.Fix
	}
	return attach
}

// broughtRoles returns a check for each role that the user provides. Such a role is never changed,
// so it must already grant the permissions of its machines.
func (c *checker) broughtRoles() []doctor.Check {
	var out []doctor.Check
	for _, r := range []struct {
		who  policy.Who
		role string
	}{{policy.ByMaster, c.MasterRole()}, {policy.ByAgent, c.AgentRole()}} {
		if r.role == "" {
			continue
		}
		out = append(out, doctor.Check{
			Name: string(r.who) + "'s permissions", Look: func(ctx context.Context) doctor.Result { return c.roleMay(ctx, r.who, r.role) },
		})
	}
	return out
}

// roleMay simulates the calls that machines make with a role.
func (c *checker) roleMay(ctx context.Context, who policy.Who, role string) doctor.Result {
	command := fmt.Sprintf("`det-deploy aws policy %s --cluster-id %s%s`", who, c.Spec.Cluster, c.Scope.Flags())
	needed := "the actions that " + command + " prints"
	documents := policy.For(who, c.Scope)
	denied, err := c.facts.Refused(ctx, role, documents)
	role = spec.RoleName(role)
	switch {
	case err != nil:
		return doctor.Unsure("cannot simulate the permissions: "+err.Error(), needed, "compare the role's policies with that output")
	case len(denied) > 0 && !slices.ContainsFunc(denied, func(a string) bool { return !slices.Contains(c.Scope.Optional(), a) }):
		return doctor.Unsure(role+" may not "+strings.Join(denied, ", ")+"; the machines work without these", needed, "see docs/reference/aws-permissions.md for their purpose")
	case len(denied) > 0:
		fix := fmt.Sprintf("attach the output of %s to the role, or leave --%[2]s-role and --%[2]s-instance-profile out", command, who)
		return doctor.Failed(role+" may not "+strings.Join(denied, ", "), needed, fix).As(cloud.Denied)
	}
	return doctor.Passed("all %d actions are allowed", len(policy.Actions(documents)))
}

func (c *checker) tryVPC(ctx context.Context) error {
	if !c.Spec.Network.Own() {
		_, err := c.Clients.EC2.CreateVolume(ctx, &ec2.CreateVolumeInput{
			DryRun: aws.Bool(true), AvailabilityZone: aws.String(c.Known.Master.Zone), Size: aws.Int32(1),
			TagSpecifications: mark.TagSpec(ec2types.ResourceTypeVolume, c.Owner.Owned()),
		})
		return err
	}
	_, err := c.Clients.EC2.CreateVpc(ctx, &ec2.CreateVpcInput{
		DryRun: aws.Bool(true), CidrBlock: aws.String(c.Spec.Network.CIDR), TagSpecifications: mark.TagSpec(ec2types.ResourceTypeVpc, c.Owner.Owned()),
	})
	return err
}

func (c *checker) tryAddress(ctx context.Context) error {
	_, err := c.Clients.EC2.AllocateAddress(ctx, &ec2.AllocateAddressInput{
		DryRun: aws.Bool(true), Domain: ec2types.DomainTypeVpc, TagSpecifications: mark.TagSpec(ec2types.ResourceTypeElasticIp, c.Owner.Owned()),
	})
	return err
}
