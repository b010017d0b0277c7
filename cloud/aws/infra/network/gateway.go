package network

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Gateway is an internet gateway.
type Gateway struct {
	In   *mark.Cluster
	Name string
	VPC  infra.Ref

	infra.Learned
}

// ID returns the resource ID "aws/internet-gateway/NAME".
func (g *Gateway) ID() string { return mark.ResourceID(mark.KindGateway, g.Name) }

// Define implements infra.Defined.
func (g *Gateway) Define() infra.Definition[types.InternetGateway] {
	d := mark.Define(g.In, Gateways(g.In), g.Name, &g.Learned, g.VPC)
	d.Needed = []infra.Ref{g.VPC}
	d.Create, d.Compare, d.Change = g.createGateway, g.compareLive, g.fixDrift
	return d
}

// compareLive compares the VPC to which the gateway is attached.
func (g *Gateway) compareLive(_ context.Context, live types.InternetGateway) ([]resource.Drift, error) {
	return infra.Differences(infra.Changeable("vpc", attachedTo(live), g.VPC.Identity())), nil
}

// createGateway creates the gateway and attaches it to its VPC.
func (g *Gateway) createGateway(ctx context.Context, nonce string) error {
	out, err := g.In.Clients.EC2.CreateInternetGateway(ctx, &ec2.CreateInternetGatewayInput{
		TagSpecifications: mark.TagSpec(types.ResourceTypeInternetGateway, g.In.Marks(g.Name, nonce)),
	})
	if err != nil {
		return err
	}
	g.Learn(aws.ToString(out.InternetGateway.InternetGatewayId))
	return resource.Partial(g.attachVPC(ctx))
}

// fixDrift attaches the gateway to its VPC.
func (g *Gateway) fixDrift(ctx context.Context, drift []resource.Drift) error {
	for _, d := range drift {
		if d.Path != "vpc" {
			continue
		}
		if err := detachGateway(ctx, g.In, g.Identity(), d.Have); err != nil {
			return err
		}
		return g.attachVPC(ctx)
	}
	return nil
}

func (g *Gateway) attachVPC(ctx context.Context) error {
	err := g.In.Waiter().RetryUntilKnown(ctx, g.ID(), func() error {
		_, err := g.In.Clients.EC2.AttachInternetGateway(ctx, &ec2.AttachInternetGatewayInput{
			InternetGatewayId: aws.String(g.Identity()), VpcId: aws.String(g.VPC.Identity()),
		})
		return err
	})
	if cloud.KindOf(err) != cloud.Conflict {
		return err
	}
	// It is already attached, to this VPC if an earlier response was lost.
	_, drift, findErr := infra.Nonced(g).Find(ctx)
	for _, d := range drift {
		if d.Path == "vpc" {
			return err
		}
	}
	return findErr
}

func deleteGateway(ctx context.Context, c *mark.Cluster, id string) error {
	return c.Waiter().RetryWhileInUse(ctx, id, func() error {
		all, err := Gateways(c).All(ctx, c.Owned())
		if err != nil {
			return err
		}
		for _, s := range all {
			if s.Identity != id {
				continue
			}
			if err := detachGateway(ctx, c, id, attachedTo(s.Object)); err != nil {
				return err
			}
		}
		_, err = c.Clients.EC2.DeleteInternetGateway(ctx, &ec2.DeleteInternetGatewayInput{InternetGatewayId: aws.String(id)})
		return err
	})
}

// detachGateway detaches a gateway. EC2 returns an error while the VPC has public addresses.
func detachGateway(ctx context.Context, c *mark.Cluster, id, vpc string) error {
	if vpc == "" {
		return nil
	}
	_, err := c.Clients.EC2.DetachInternetGateway(ctx, &ec2.DetachInternetGatewayInput{
		InternetGatewayId: aws.String(id), VpcId: aws.String(vpc),
	})
	return infra.IgnoreMissing(err)
}

func attachedTo(g types.InternetGateway) string {
	for _, a := range g.Attachments {
		if a.State != types.AttachmentStatusDetached {
			return aws.ToString(a.VpcId)
		}
	}
	return ""
}

// Gateways returns the kind of the cluster's internet gateways. A gateway is detached before it is
// deleted.
func Gateways(c *mark.Cluster) infra.Kind[types.InternetGateway] {
	k := mark.Kind(mark.KindGateway, func(ctx context.Context, filters []types.Filter) ([]types.InternetGateway, error) {
		p := ec2.NewDescribeInternetGatewaysPaginator(c.Clients.EC2, &ec2.DescribeInternetGatewaysInput{Filters: filters})
		return mark.Pages(ctx, p, func(o *ec2.DescribeInternetGatewaysOutput) []types.InternetGateway { return o.InternetGateways })
	}, func(g types.InternetGateway) infra.Observed {
		return infra.Observed{Identity: aws.ToString(g.InternetGatewayId), Marks: mark.EC2TagMap(g.Tags), Used: attachedTo(g) != ""}
	})
	k.Delete = func(ctx context.Context, id string) error { return deleteGateway(ctx, c, id) }
	return k
}
