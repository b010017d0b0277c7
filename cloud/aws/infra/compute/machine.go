// Package compute is the machines of a cluster: the master's, with its disks, and those
// that a master launched.
package compute

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/infra"
)

// The limits for machines. Amazon promises no times; these are several times what is
// usual.
var (
	// ToStart is for a machine that is pending.
	ToStart = infra.Limit{What: "to start", Max: 10 * time.Minute}
	toStop  = infra.Limit{What: "to stop", Max: 10 * time.Minute}
	toEnd   = infra.Limit{What: "to be gone", Max: 10 * time.Minute}
	// EC2 learns of a new instance profile within half a minute.
	toBeUsable = infra.Limit{What: "to become usable", Max: 2 * time.Minute}
	// A volume from a snapshot is usable at once and filled in later.
	toBeAttachable = infra.Limit{What: "to be available", Max: 5 * time.Minute}
)

// describeMachine looks at one machine, in whatever state.
func describeMachine(ctx context.Context, c *mark.Cluster, id string) (types.Instance, error) {
	out, err := c.Clients.EC2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
	if err != nil {
		return types.Instance{}, err
	}
	for _, r := range out.Reservations {
		for _, i := range r.Instances {
			return i, nil
		}
	}
	return types.Instance{}, infra.Missing("ec2:DescribeInstances", id)
}

// describeListed looks at a machine that a list has shown, so that one which is not
// described yet is not taken for gone: it would go on costing.
func describeListed(ctx context.Context, c *mark.Cluster, id string) (live types.Instance, err error) {
	err = c.Waiter().LookUpListed(ctx, id, func() error {
		live, err = describeMachine(ctx, c, id)
		return err
	})
	return live, err
}

// AwaitMachine waits until a machine is in one of some states, and gives up on
// one that ends instead.
func AwaitMachine(ctx context.Context, c *mark.Cluster, id string, l infra.Limit, states ...types.InstanceStateName) (types.Instance, error) {
	var live types.Instance
	err := c.Waiter().Await(ctx, id, l, func() (bool, error) {
		var err error
		live, err = describeMachine(ctx, c, id)
		if cloud.KindOf(err) == cloud.NotFound {
			return false, nil // not every part of Amazon has heard of it yet
		}
		if err != nil || slices.Contains(states, stateOf(live)) {
			return err == nil, err
		}
		if isEnding(live) {
			return false, &cloud.Error{Kind: cloud.Invalid, Op: "ec2:RunInstances", Resource: id, Err: explainEnd(live)}
		}
		return false, nil
	})
	return live, err
}

// EndMachine terminates a machine. With wait it returns when the machine is
// gone, and its disk free; otherwise when its end has begun.
func EndMachine(ctx context.Context, c *mark.Cluster, id string, wait bool) error {
	live, err := describeListed(ctx, c, id)
	if err != nil {
		return infra.IgnoreMissing(err)
	}
	if !isEnding(live) {
		if err := terminateMachine(ctx, c, id); err != nil {
			return err
		}
	}
	if !wait {
		return nil
	}
	return c.Waiter().Await(ctx, id, toEnd, func() (bool, error) {
		live, err := describeMachine(ctx, c, id)
		if cloud.KindOf(err) == cloud.NotFound {
			return true, nil
		}
		return err == nil && stateOf(live) == types.InstanceStateNameTerminated, err
	})
}

func terminateMachine(ctx context.Context, c *mark.Cluster, id string) error {
	end := func() error {
		return infra.IgnoreMissing(c.Waiter().LookUpListed(ctx, id, func() error {
			_, err := c.Clients.EC2.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{id}})
			return err
		}))
	}
	err := end()
	if cloud.KindOf(err) != cloud.Conflict {
		return err
	}
	// Its termination protection is ours: it is switched off first.
	_, err = c.Clients.EC2.ModifyInstanceAttribute(ctx, &ec2.ModifyInstanceAttributeInput{
		InstanceId: aws.String(id), DisableApiTermination: &types.AttributeBooleanValue{Value: aws.Bool(false)},
	})
	if err != nil {
		return infra.IgnoreMissing(err)
	}
	return end()
}

// stopMachine shuts a machine down cleanly, so that its disks can be taken off.
func stopMachine(ctx context.Context, c *mark.Cluster, id string) error {
	live, err := describeListed(ctx, c, id)
	if err != nil || isEnding(live) {
		return infra.IgnoreMissing(err)
	}
	if s := stateOf(live); s == types.InstanceStateNamePending || s == types.InstanceStateNameRunning {
		// One that is still starting cannot be stopped.
		if _, err := AwaitMachine(ctx, c, id, ToStart, types.InstanceStateNameRunning); err != nil {
			return err
		}
		if _, err := c.Clients.EC2.StopInstances(ctx, &ec2.StopInstancesInput{InstanceIds: []string{id}}); err != nil {
			return err
		}
	}
	_, err = AwaitMachine(ctx, c, id, toStop, types.InstanceStateNameStopped)
	return err
}

func startMachine(ctx context.Context, c *mark.Cluster, id string) error {
	if _, err := c.Clients.EC2.StartInstances(ctx, &ec2.StartInstancesInput{InstanceIds: []string{id}}); err != nil {
		return err
	}
	_, err := AwaitMachine(ctx, c, id, ToStart, types.InstanceStateNameRunning)
	return err
}

func stateOf(i types.Instance) types.InstanceStateName {
	if i.State == nil {
		return ""
	}
	return i.State.Name
}

// isEnding is true for a machine that is gone or on its way.
func isEnding(i types.Instance) bool {
	s := stateOf(i)
	return s == types.InstanceStateNameShuttingDown || s == types.InstanceStateNameTerminated
}

var errEnded = errors.New("the machine ended instead of starting")

func explainEnd(i types.Instance) error {
	if i.StateReason != nil && aws.ToString(i.StateReason.Message) != "" {
		return fmt.Errorf("%w: %s", errEnded, aws.ToString(i.StateReason.Message))
	}
	return errEnded
}

// Masters are the machines that are one of the cluster's resources; agents are
// all others.
func Masters(c *mark.Cluster) infra.Kind[types.Instance] {
	return machineKind(c, mark.KindInstance, true, func(o infra.Observed) bool { return o.Marks[mark.ResourceTag] != "" })
}

// Agents are the machines that a master launched. Their end is begun, not waited for.
func Agents(c *mark.Cluster) infra.Kind[types.Instance] {
	return machineKind(c, mark.KindAgent, false, func(o infra.Observed) bool { return o.Marks[mark.ResourceTag] == "" })
}

// machineKind is one of the two kinds of machines.
func machineKind(c *mark.Cluster, name string, wait bool, belongs func(infra.Observed) bool) infra.Kind[types.Instance] {
	k := mark.Kind(name, func(ctx context.Context, filters []types.Filter) ([]types.Instance, error) {
		return listMachines(ctx, c, filters)
	}, func(i types.Instance) infra.Observed {
		o := observeMachine(i)
		o.Deleting = o.Deleting || !belongs(o)
		return o
	})
	k.Delete = func(ctx context.Context, id string) error { return EndMachine(ctx, c, id, wait) }
	return k
}

func observeMachine(i types.Instance) infra.Observed {
	return infra.Observed{
		Identity: aws.ToString(i.InstanceId), Marks: mark.EC2TagMap(i.Tags), Created: aws.ToTime(i.LaunchTime),
		Deleting: isEnding(i), Used: len(i.BlockDeviceMappings) > 1,
	}
}

func listMachines(ctx context.Context, c *mark.Cluster, filters []types.Filter) ([]types.Instance, error) {
	p := ec2.NewDescribeInstancesPaginator(c.Clients.EC2, &ec2.DescribeInstancesInput{Filters: filters})
	return mark.Pages(ctx, p, func(o *ec2.DescribeInstancesOutput) []types.Instance {
		var out []types.Instance
		for _, r := range o.Reservations {
			out = append(out, r.Instances...)
		}
		return out
	})
}
