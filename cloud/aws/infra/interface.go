package infra

import (
	"context"
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// interfaces are those that hang: not attached to anything that would take them
// along when it goes.
func interfaces() kind[types.NetworkInterface] {
	return kind[types.NetworkInterface]{
		name: KindInterface,
		list: listInterfaces,
		look: func(n types.NetworkInterface) sight {
			return sight{id: aws.ToString(n.NetworkInterfaceId), tags: ec2TagMap(n.TagSet), fading: n.Status != types.NetworkInterfaceStatusAvailable}
		},
	}
}

func listInterfaces(ctx context.Context, c *Cluster, filters []types.Filter) ([]types.NetworkInterface, error) {
	p := ec2.NewDescribeNetworkInterfacesPaginator(c.Clients.EC2, &ec2.DescribeNetworkInterfacesInput{Filters: filters})
	return pages(ctx, p, func(o *ec2.DescribeNetworkInterfacesOutput) []types.NetworkInterface { return o.NetworkInterfaces })
}

func (c *Cluster) deleteInterface(ctx context.Context, id string) error {
	return c.release(ctx, id, func() error {
		_, err := c.Clients.EC2.DeleteNetworkInterface(ctx, &ec2.DeleteNetworkInterfaceInput{NetworkInterfaceId: aws.String(id)})
		return err
	})
}

// blame adds to a wait that ended in vain which interfaces it was about: "still
// in use" alone sends people to the console.
func (c *Cluster) blame(ctx context.Context, filter, id string, err error) error {
	w, ok := errors.AsType[*WaitError](err)
	if !ok {
		return err
	}
	ns, listErr := listInterfaces(ctx, c, []types.Filter{{Name: aws.String(filter), Values: []string{id}}})
	if listErr != nil {
		return err // the first complaint is the one that matters
	}
	var users []string
	for _, n := range ns {
		users = append(users, aws.ToString(n.NetworkInterfaceId)+" ("+describe(n)+")")
	}
	if len(users) > 0 {
		w.Subject += ", which is used by " + strings.Join(users, ", ") + ","
	}
	return err
}

func describe(n types.NetworkInterface) string {
	if n.Attachment != nil && aws.ToString(n.Attachment.InstanceId) != "" {
		return aws.ToString(n.Attachment.InstanceId)
	}
	if d := aws.ToString(n.Description); d != "" {
		return d
	}
	return string(n.Status)
}
