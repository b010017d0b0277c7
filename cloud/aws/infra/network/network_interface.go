package network

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud/aws/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/infra"
)

// Interfaces returns the kind of unattached network interfaces, which are not deleted together with
// another object.
func Interfaces(c *mark.Cluster) infra.Kind[types.NetworkInterface] {
	list := func(ctx context.Context, filters []types.Filter) ([]types.NetworkInterface, error) {
		return listInterfaces(ctx, c, filters)
	}
	k := mark.Kind(mark.KindInterface, list, func(n types.NetworkInterface) infra.Observed {
		return infra.Observed{
			Identity: aws.ToString(n.NetworkInterfaceId), Marks: mark.EC2TagMap(n.TagSet),
			Deleting: n.Status != types.NetworkInterfaceStatusAvailable,
		}
	})
	k.Delete = func(ctx context.Context, id string) error { return deleteInterface(ctx, c, id) }
	return k
}

func listInterfaces(ctx context.Context, c *mark.Cluster, filters []types.Filter) ([]types.NetworkInterface, error) {
	p := ec2.NewDescribeNetworkInterfacesPaginator(c.Clients.EC2, &ec2.DescribeNetworkInterfacesInput{Filters: filters})
	return mark.Pages(ctx, p, func(o *ec2.DescribeNetworkInterfacesOutput) []types.NetworkInterface { return o.NetworkInterfaces })
}

func deleteInterface(ctx context.Context, c *mark.Cluster, id string) error {
	return c.Waiter().RetryWhileInUse(ctx, id, func() error {
		_, err := c.Clients.EC2.DeleteNetworkInterface(ctx, &ec2.DeleteNetworkInterfaceInput{NetworkInterfaceId: aws.String(id)})
		return err
	})
}

// interfaceHolder returns a function that finds the network interfaces that keep an object in use,
// because EC2's error does not name them. Filter is the list filter for the object.
func interfaceHolder(c *mark.Cluster, filter, id string) func(context.Context, error) infra.Holder {
	return func(ctx context.Context, _ error) infra.Holder {
		ns, err := listInterfaces(ctx, c, []types.Filter{{Name: aws.String(filter), Values: []string{id}}})
		if err != nil || len(ns) == 0 {
			return infra.Holder{} // the original error matters
		}
		var users []string
		for _, n := range ns {
			users = append(users, aws.ToString(n.NetworkInterfaceId)+" ("+describeUser(n)+")")
		}
		out := infra.Holder{Names: strings.Join(users, ", "), Command: freeingCommand(c.Clients.Region, ns[0])}
		if foreign := foreignMachine(ctx, c, ns); foreign != "" {
			out.Command, out.Foreign = terminatingCommand(c.Clients.Region, foreign), true
		}
		return out
	}
}

// foreignMachine returns the ID of a machine with one of the interfaces that is not the cluster's and is
// not being terminated, or "".
func foreignMachine(ctx context.Context, c *mark.Cluster, ns []types.NetworkInterface) string {
	var ids []string
	for _, n := range ns {
		if n.Attachment != nil && aws.ToString(n.Attachment.InstanceId) != "" {
			ids = append(ids, aws.ToString(n.Attachment.InstanceId))
		}
	}
	if len(ids) == 0 {
		return ""
	}
	out, err := c.Clients.EC2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: ids})
	if err != nil {
		return "" // one of them may be gone
	}
	for _, r := range out.Reservations {
		for _, i := range r.Instances {
			if mark.EC2TagMap(i.Tags)[mark.ClusterTag] != c.ID && !isTerminating(i) {
				return aws.ToString(i.InstanceId)
			}
		}
	}
	return ""
}

func isTerminating(i types.Instance) bool {
	return i.State != nil && (i.State.Name == types.InstanceStateNameShuttingDown || i.State.Name == types.InstanceStateNameTerminated)
}

func terminatingCommand(region, id string) string {
	return "aws ec2 terminate-instances --region " + region + " --instance-ids " + id
}

// freeingCommand returns the command that deletes the owner of an interface. An interface of a
// service, such as a load balancer, is deleted only together with it.
func freeingCommand(region string, n types.NetworkInterface) string {
	switch {
	case n.Attachment != nil && aws.ToString(n.Attachment.InstanceId) != "":
		return terminatingCommand(region, aws.ToString(n.Attachment.InstanceId))
	case aws.ToBool(n.RequesterManaged):
		return "delete its owner: " + describeUser(n)
	default:
		return "aws ec2 delete-network-interface --region " + region + " --network-interface-id " + aws.ToString(n.NetworkInterfaceId)
	}
}

func describeUser(n types.NetworkInterface) string {
	if n.Attachment != nil && aws.ToString(n.Attachment.InstanceId) != "" {
		return aws.ToString(n.Attachment.InstanceId)
	}
	if d := aws.ToString(n.Description); d != "" {
		return d
	}
	return string(n.Status)
}
