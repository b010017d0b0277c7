package infra

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Gateway connects a network to the internet.
type Gateway struct {
	In   *Cluster
	Name string
	VPC  Ref

	learned
	nonced
}

var (
	_ resource.Updater = (*Gateway)(nil)
	_ resource.Nonced  = (*Gateway)(nil)
)

// ID is "aws/internet-gateway/" and its name.
func (g *Gateway) ID() string { return resourceID(KindGateway, g.Name) }

// Kind is KindGateway.
func (*Gateway) Kind() string { return KindGateway }

// Needs its network.
func (g *Gateway) Needs() []string { return needs(g.VPC) }

// Find looks at it, and at which network it is attached to.
func (g *Gateway) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	if g.VPC.Identity() == "" {
		return resource.Found{}, nil, nil
	}
	s, found, err := gateways().named(ctx, g.In, g.Name)
	if err != nil || !found.Exists() {
		return resource.Found{}, nil, err
	}
	g.id = s.id
	drift := tagDrift(s.tags, g.In.chosen(g.Name))
	if have := attachedTo(s.live); have != g.VPC.Identity() {
		drift = append(drift, resource.Drift{Path: "vpc", Have: have, Want: g.VPC.Identity()})
	}
	return found, drift, nil
}

// CreateOnce makes it and attaches it.
func (g *Gateway) CreateOnce(ctx context.Context, nonce string) error {
	out, err := g.In.Clients.EC2.CreateInternetGateway(ctx, &ec2.CreateInternetGatewayInput{
		TagSpecifications: tagSpec(types.ResourceTypeInternetGateway, g.In.marks(g.Name, nonce)),
	})
	if err != nil {
		return err
	}
	g.id = aws.ToString(out.InternetGateway.InternetGatewayId)
	return resource.Partial(g.attach(ctx))
}

// Made lists what was made under nonce.
func (g *Gateway) Made(ctx context.Context, nonce string) ([]resource.Found, error) {
	return gateways().made(ctx, g.In, nonce)
}

// Update changes tags, and attaches it where it should be.
func (g *Gateway) Update(ctx context.Context, drift []resource.Drift) error {
	if err := g.In.retag(ctx, g.id, drift); err != nil {
		return err
	}
	for _, d := range drift {
		if d.Path != "vpc" {
			continue
		}
		if err := g.In.detachGateway(ctx, g.id, d.Have); err != nil {
			return err
		}
		return g.attach(ctx)
	}
	return nil
}

func (g *Gateway) attach(ctx context.Context) error {
	err := g.In.known(ctx, g.ID(), func() error {
		_, err := g.In.Clients.EC2.AttachInternetGateway(ctx, &ec2.AttachInternetGatewayInput{
			InternetGatewayId: aws.String(g.id), VpcId: aws.String(g.VPC.Identity()),
		})
		return err
	})
	if cloud.KindOf(err) != cloud.Conflict {
		return err
	}
	// It is attached: to this network when an earlier reply was lost.
	_, drift, findErr := g.Find(ctx)
	for _, d := range drift {
		if d.Path == "vpc" {
			return err
		}
	}
	return findErr
}

// Delete detaches and removes it.
func (g *Gateway) Delete(ctx context.Context) error { return g.In.deleteGateway(ctx, g.id) }

func (c *Cluster) deleteGateway(ctx context.Context, id string) error {
	return c.release(ctx, id, func() error {
		all, err := gateways().all(ctx, c, nil)
		if err != nil {
			return err
		}
		for _, s := range all {
			if s.id != id {
				continue
			}
			if err := c.detachGateway(ctx, id, attachedTo(s.live)); err != nil {
				return err
			}
		}
		_, err = c.Clients.EC2.DeleteInternetGateway(ctx, &ec2.DeleteInternetGatewayInput{InternetGatewayId: aws.String(id)})
		return err
	})
}

// detachGateway is refused while there are public addresses in vpc.
func (c *Cluster) detachGateway(ctx context.Context, id, vpc string) error {
	if vpc == "" {
		return nil
	}
	_, err := c.Clients.EC2.DetachInternetGateway(ctx, &ec2.DetachInternetGatewayInput{
		InternetGatewayId: aws.String(id), VpcId: aws.String(vpc),
	})
	return gone(err)
}

func attachedTo(g types.InternetGateway) string {
	for _, a := range g.Attachments {
		if a.State != types.AttachmentStatusDetached {
			return aws.ToString(a.VpcId)
		}
	}
	return ""
}

// name is how drift shows something that may not be there yet.
func name(r Ref) string {
	if id := r.Identity(); id != "" {
		return id
	}
	return r.ID()
}

func gateways() kind[types.InternetGateway] {
	return kind[types.InternetGateway]{
		name: KindGateway,
		list: func(ctx context.Context, c *Cluster, filters []types.Filter) ([]types.InternetGateway, error) {
			p := ec2.NewDescribeInternetGatewaysPaginator(c.Clients.EC2, &ec2.DescribeInternetGatewaysInput{Filters: filters})
			return pages(ctx, p, func(o *ec2.DescribeInternetGatewaysOutput) []types.InternetGateway { return o.InternetGateways })
		},
		look: func(g types.InternetGateway) sight {
			return sight{id: aws.ToString(g.InternetGatewayId), tags: ec2TagMap(g.Tags), used: attachedTo(g) != ""}
		},
	}
}
