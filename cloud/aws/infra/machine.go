package infra

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud"
)

// machine looks at one machine, in whatever state.
func (c *Cluster) machine(ctx context.Context, id string) (types.Instance, error) {
	out, err := c.Clients.EC2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
	if err != nil {
		return types.Instance{}, err
	}
	for _, r := range out.Reservations {
		for _, i := range r.Instances {
			return i, nil
		}
	}
	return types.Instance{}, none("ec2:DescribeInstances", id)
}

// listed looks at a machine that a list has shown, so that one which is not
// described yet is not taken for gone: it would go on costing.
func (c *Cluster) listed(ctx context.Context, id string) (live types.Instance, err error) {
	err = c.sure(ctx, id, func() error {
		live, err = c.machine(ctx, id)
		return err
	})
	return live, err
}

// awaitMachine waits until a machine is in one of some states, and gives up on
// one that ends instead.
func (c *Cluster) awaitMachine(ctx context.Context, id string, l limit, states ...types.InstanceStateName) (types.Instance, error) {
	var live types.Instance
	err := c.await(ctx, id, l, func() (bool, error) {
		var err error
		live, err = c.machine(ctx, id)
		if cloud.KindOf(err) == cloud.NotFound {
			return false, nil // not every part of Amazon has heard of it yet
		}
		if err != nil || slices.Contains(states, stateOf(live)) {
			return err == nil, err
		}
		if ending(live) {
			return false, &cloud.Error{Kind: cloud.Invalid, Op: "ec2:RunInstances", Resource: id, Err: endedFor(live)}
		}
		return false, nil
	})
	return live, err
}

// endMachine terminates a machine. With wait it returns when the machine is
// gone, and its disk free; otherwise when its end has begun.
func (c *Cluster) endMachine(ctx context.Context, id string, wait bool) error {
	live, err := c.listed(ctx, id)
	if err != nil {
		return gone(err)
	}
	if !ending(live) {
		if err := c.terminate(ctx, id); err != nil {
			return err
		}
	}
	if !wait {
		return nil
	}
	return c.await(ctx, id, toEnd, func() (bool, error) {
		live, err := c.machine(ctx, id)
		if cloud.KindOf(err) == cloud.NotFound {
			return true, nil
		}
		return err == nil && stateOf(live) == types.InstanceStateNameTerminated, err
	})
}

func (c *Cluster) terminate(ctx context.Context, id string) error {
	end := func() error {
		return gone(c.sure(ctx, id, func() error {
			_, err := c.Clients.EC2.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{id}})
			return err
		}))
	}
	err := end()
	if cloud.KindOf(err) != cloud.Conflict {
		return err
	}
	// It is protected, by us, from being terminated by somebody else.
	_, err = c.Clients.EC2.ModifyInstanceAttribute(ctx, &ec2.ModifyInstanceAttributeInput{
		InstanceId: aws.String(id), DisableApiTermination: &types.AttributeBooleanValue{Value: aws.Bool(false)},
	})
	if err != nil {
		return gone(err)
	}
	return end()
}

// stop shuts a machine down cleanly, so that its disks can be taken off.
func (c *Cluster) stop(ctx context.Context, id string) error {
	live, err := c.listed(ctx, id)
	if err != nil || ending(live) {
		return gone(err)
	}
	if s := stateOf(live); s == types.InstanceStateNamePending || s == types.InstanceStateNameRunning {
		// One that is still starting cannot be stopped.
		if _, err := c.awaitMachine(ctx, id, toStart, types.InstanceStateNameRunning); err != nil {
			return err
		}
		if _, err := c.Clients.EC2.StopInstances(ctx, &ec2.StopInstancesInput{InstanceIds: []string{id}}); err != nil {
			return err
		}
	}
	_, err = c.awaitMachine(ctx, id, toStop, types.InstanceStateNameStopped)
	return err
}

func (c *Cluster) start(ctx context.Context, id string) error {
	if _, err := c.Clients.EC2.StartInstances(ctx, &ec2.StartInstancesInput{InstanceIds: []string{id}}); err != nil {
		return err
	}
	_, err := c.awaitMachine(ctx, id, toStart, types.InstanceStateNameRunning)
	return err
}

func stateOf(i types.Instance) types.InstanceStateName {
	if i.State == nil {
		return ""
	}
	return i.State.Name
}

// ending is true for a machine that is gone or on its way.
func ending(i types.Instance) bool {
	s := stateOf(i)
	return s == types.InstanceStateNameShuttingDown || s == types.InstanceStateNameTerminated
}

var errEnded = errors.New("the machine ended instead of starting")

func endedFor(i types.Instance) error {
	if i.StateReason != nil && aws.ToString(i.StateReason.Message) != "" {
		return fmt.Errorf("%w: %s", errEnded, aws.ToString(i.StateReason.Message))
	}
	return errEnded
}

// masters are the machines that are one of the cluster's resources; agents are
// all others.
func masters() kind[types.Instance] {
	return kind[types.Instance]{name: KindInstance, list: listMachines, look: func(i types.Instance) sight {
		s := lookAtMachine(i)
		s.fading = s.fading || s.tags[ResourceTag] == ""
		return s
	}}
}

func agents() kind[types.Instance] {
	return kind[types.Instance]{name: KindAgent, list: listMachines, look: func(i types.Instance) sight {
		s := lookAtMachine(i)
		s.fading = s.fading || s.tags[ResourceTag] != ""
		return s
	}}
}

func lookAtMachine(i types.Instance) sight {
	return sight{
		id: aws.ToString(i.InstanceId), tags: ec2TagMap(i.Tags), born: aws.ToTime(i.LaunchTime),
		fading: ending(i), used: len(i.BlockDeviceMappings) > 1,
	}
}

func listMachines(ctx context.Context, c *Cluster, filters []types.Filter) ([]types.Instance, error) {
	p := ec2.NewDescribeInstancesPaginator(c.Clients.EC2, &ec2.DescribeInstancesInput{Filters: filters})
	return pages(ctx, p, func(o *ec2.DescribeInstancesOutput) []types.Instance {
		var out []types.Instance
		for _, r := range o.Reservations {
			out = append(out, r.Instances...)
		}
		return out
	})
}
