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
		return infra.Holder{Names: strings.Join(users, ", "), Command: freeingCommand(c.Clients.Region, ns[0])}
	}
}

// freeingCommand returns the command that deletes the owner of an interface. An interface of a
// service, such as a load balancer, is deleted only together with it.
func freeingCommand(region string, n types.NetworkInterface) string {
	switch {
	case n.Attachment != nil && aws.ToString(n.Attachment.InstanceId) != "":
		return "aws ec2 terminate-instances --region " + region + " --instance-ids " + aws.ToString(n.Attachment.InstanceId)
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
