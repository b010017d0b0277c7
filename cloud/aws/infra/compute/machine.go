// Package compute manages the EC2 instances of a cluster: the master's instance with its volumes,
// and those launched by a master.
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

// The limits for instances. They are several times the usual duration, because Amazon guarantees
// none.
var (
	// ToStart is the limit for a pending instance.
	ToStart = infra.Limit{What: "to start", Max: 10 * time.Minute}
	toStop  = infra.Limit{What: "to stop", Max: 10 * time.Minute}
	toEnd   = infra.Limit{What: "to be terminated", Max: 10 * time.Minute}
	// EC2 recognizes a new instance profile within half a minute.
	toBeUsable = infra.Limit{What: "to become usable", Max: 2 * time.Minute}
	// A volume created from a snapshot is usable at once, while its blocks are loaded in the
	// background.
	toBeAttachable = infra.Limit{What: "to be available", Max: 5 * time.Minute}
)

// describeMachine returns an instance in any state.
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

// describeListed returns an instance that was listed. It waits until the instance can be described,
// so that it does not count as deleted and keep incurring costs.
func describeListed(ctx context.Context, c *mark.Cluster, id string) (live types.Instance, err error) {
	err = c.Waiter().LookUpListed(ctx, id, func() error {
		live, err = describeMachine(ctx, c, id)
		return err
	})
	return live, err
}

// AwaitMachine waits until an instance is in one of the given states. It returns an error if the
// instance is terminated instead.
func AwaitMachine(ctx context.Context, c *mark.Cluster, id string, l infra.Limit, states ...types.InstanceStateName) (types.Instance, error) {
	var live types.Instance
	err := c.Waiter().Await(ctx, id, l, func() (bool, error) {
		var err error
		live, err = describeMachine(ctx, c, id)
		if cloud.KindOf(err) == cloud.NotFound {
			return false, nil // the new instance is not yet visible to all parts of EC2
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

// EndMachine terminates an instance. If wait is true, it returns when the instance is terminated
// and its volumes are free, otherwise when termination has started.
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
	// Termination protection was enabled by det-deploy and must be disabled first.
	_, err = c.Clients.EC2.ModifyInstanceAttribute(ctx, &ec2.ModifyInstanceAttributeInput{
		InstanceId: aws.String(id), DisableApiTermination: &types.AttributeBooleanValue{Value: aws.Bool(false)},
	})
	if err != nil {
		return infra.IgnoreMissing(err)
	}
	return end()
}

// stopMachine shuts an instance down cleanly, so that its volumes can be detached.
func stopMachine(ctx context.Context, c *mark.Cluster, id string) error {
	live, err := describeListed(ctx, c, id)
	if err != nil || isEnding(live) {
		return infra.IgnoreMissing(err)
	}
	if s := stateOf(live); s == types.InstanceStateNamePending || s == types.InstanceStateNameRunning {
		// A pending instance cannot be stopped.
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

// isEnding reports whether an instance is terminated or shutting down.
func isEnding(i types.Instance) bool {
	s := stateOf(i)
	return s == types.InstanceStateNameShuttingDown || s == types.InstanceStateNameTerminated
}

var errEnded = errors.New("the instance was terminated instead of started")

func explainEnd(i types.Instance) error {
	if i.StateReason != nil && aws.ToString(i.StateReason.Message) != "" {
		return fmt.Errorf("%w: %s", errEnded, aws.ToString(i.StateReason.Message))
	}
	return errEnded
}

// Masters returns the kind of instances that are resources of the cluster. All others are agents.
func Masters(c *mark.Cluster) infra.Kind[types.Instance] {
	return machineKind(c, mark.KindInstance, true, func(o infra.Observed) bool { return o.Marks[mark.ResourceTag] != "" })
}

// Agents returns the kind of instances launched by a master. Deleting one does not wait for its
// termination.
func Agents(c *mark.Cluster) infra.Kind[types.Instance] {
	return machineKind(c, mark.KindAgent, false, func(o infra.Observed) bool { return o.Marks[mark.ResourceTag] == "" })
}

// machineKind returns one of the two kinds of instances.
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
