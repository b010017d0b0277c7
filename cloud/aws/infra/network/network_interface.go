package network

import (
	"context"
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud/aws/infra/owner"
	"github.com/det-deploy/det-deploy/cloud/infra"
)

// Interfaces are those that hang: not attached to anything that would take them
// along when it goes.
func Interfaces(c *owner.Cluster) infra.Kind[types.NetworkInterface] {
	list := func(ctx context.Context, filters []types.Filter) ([]types.NetworkInterface, error) {
		return listInterfaces(ctx, c, filters)
	}
	k := owner.Kind(owner.KindInterface, list, func(n types.NetworkInterface) infra.Observed {
		return infra.Observed{
			Identity: aws.ToString(n.NetworkInterfaceId), Marks: owner.EC2TagMap(n.TagSet),
			Deleting: n.Status != types.NetworkInterfaceStatusAvailable,
		}
	})
	k.Delete = func(ctx context.Context, id string) error { return deleteInterface(ctx, c, id) }
	return k
}

func listInterfaces(ctx context.Context, c *owner.Cluster, filters []types.Filter) ([]types.NetworkInterface, error) {
	p := ec2.NewDescribeNetworkInterfacesPaginator(c.Clients.EC2, &ec2.DescribeNetworkInterfacesInput{Filters: filters})
	return owner.Pages(ctx, p, func(o *ec2.DescribeNetworkInterfacesOutput) []types.NetworkInterface { return o.NetworkInterfaces })
}

func deleteInterface(ctx context.Context, c *owner.Cluster, id string) error {
	return c.Waiter().RetryWhileInUse(ctx, id, func() error {
		_, err := c.Clients.EC2.DeleteNetworkInterface(ctx, &ec2.DeleteNetworkInterfaceInput{NetworkInterfaceId: aws.String(id)})
		return err
	})
}

// nameUsers adds to a wait that ended in vain which interfaces it was about: "still
// in use" alone sends people to the console.
func nameUsers(ctx context.Context, c *owner.Cluster, filter, id string, err error) error {
	w, ok := errors.AsType[*infra.WaitError](err)
	if !ok {
		return err
	}
	ns, listErr := listInterfaces(ctx, c, []types.Filter{{Name: aws.String(filter), Values: []string{id}}})
	if listErr != nil {
		return err // the first complaint is the one that matters
	}
	var users []string
	for _, n := range ns {
		users = append(users, aws.ToString(n.NetworkInterfaceId)+" ("+describeUser(n)+")")
	}
	if len(users) > 0 {
		w.Subject += ", which is used by " + strings.Join(users, ", ") + ","
	}
	return err
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
