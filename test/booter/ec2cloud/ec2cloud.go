// Package ec2cloud boots the EC2 instances of an emulated account with a booter: cloud-init runs
// their user data and reads an emulated instance metadata service. Only tests may import it.
package ec2cloud

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/test/booter"
	motest "github.com/det-deploy/det-deploy/test/moto"
)

// Cloud is the EC2 service of an emulated account.
type Cloud struct {
	account *motest.Account
	ec2     *ec2.Client

	// mu guards booted.
	mu     sync.Mutex
	booted map[string]*metadata
}

var _ booter.Cloud = (*Cloud)(nil)

// New returns the EC2 service of an account whose server runs in the booter's lab.
func New(account *motest.Account) *Cloud {
	return &Cloud{account: account, ec2: ec2.NewFromConfig(account.Config()), booted: map[string]*metadata{}}
}

// Machines implements booter.Cloud.
func (c *Cloud) Machines(ctx context.Context) ([]booter.Machine, error) {
	attached, err := c.listAttached(ctx)
	if err != nil {
		return nil, err
	}
	var out []booter.Machine
	for pages := ec2.NewDescribeInstancesPaginator(c.ec2, &ec2.DescribeInstancesInput{}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, r := range page.Reservations {
			for _, i := range r.Instances {
				out = append(out, attached.describe(i))
			}
		}
	}
	return out, c.showNotices(ctx)
}

// attached holds the public IP addresses and the volumes that were attached after the launch, by
// instance ID.
type attached struct {
	addresses map[string]string
	disks     map[string][]booter.Disk
}

func (c *Cloud) listAttached(ctx context.Context) (attached, error) {
	out := attached{addresses: map[string]string{}, disks: map[string][]booter.Disk{}}
	addresses, err := c.ec2.DescribeAddresses(ctx, &ec2.DescribeAddressesInput{})
	if err != nil {
		return out, err
	}
	for _, a := range addresses.Addresses {
		out.addresses[aws.ToString(a.InstanceId)] = aws.ToString(a.PublicIp)
	}
	volumes, err := c.ec2.DescribeVolumes(ctx, &ec2.DescribeVolumesInput{})
	if err != nil {
		return out, err
	}
	for _, v := range volumes.Volumes {
		for _, a := range v.Attachments {
			if device := aws.ToString(a.Device); strings.HasPrefix(device, "/dev/sda") || strings.HasPrefix(device, "/dev/xvda") {
				continue // the instance's root volume
			}
			id := aws.ToString(a.InstanceId)
			out.disks[id] = append(out.disks[id], booter.Disk{ID: *v.VolumeId, Device: "nvme1n1", Serial: strings.ReplaceAll(*v.VolumeId, "-", "")})
		}
	}
	return out, nil
}

func (a attached) describe(i types.Instance) booter.Machine {
	id, private := aws.ToString(i.InstanceId), aws.ToString(i.PrivateIpAddress)
	m := booter.Machine{
		ID: id, Hostname: "ip-" + strings.ReplaceAll(private, ".", "-"), Addresses: []string{private}, Disks: a.disks[id],
		Powered: i.State.Name == types.InstanceStateNamePending || i.State.Name == types.InstanceStateNameRunning,
	}
	public := aws.ToString(i.PublicIpAddress)
	if public != "" {
		m.Addresses = append(m.Addresses, public)
	}
	if static := a.addresses[id]; static != "" && static != public {
		m.Addresses = append(m.Addresses, static)
	}
	return m
}

// showNotices publishes interruption notices and rebalance recommendations in the metadata of
// instances.
func (c *Cloud) showNotices(ctx context.Context) error {
	all, err := c.account.Look(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range all {
		md := c.booted[m.ID]
		if md == nil {
			continue
		}
		if len(m.Notice) > 0 && string(m.Notice) != "null" {
			md.set("meta-data/spot/instance-action", string(m.Notice))
		}
		if len(m.Rebalance) > 0 && string(m.Rebalance) != "null" {
			md.set("meta-data/events/recommendations/rebalance", string(m.Rebalance))
		}
	}
	return err
}

// Metadata implements booter.Cloud.
func (c *Cloud) Metadata(ctx context.Context, id string) (http.Handler, error) {
	out, err := c.ec2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
	if err != nil {
		return nil, err
	}
	if len(out.Reservations) != 1 || len(out.Reservations[0].Instances) != 1 {
		return nil, errors.New("there is no instance " + id)
	}
	md, err := c.describeMetadata(ctx, out.Reservations[0].Instances[0])
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.booted[id] = md
	return md, nil
}

// PoweredOff implements booter.Cloud. It terminates or stops the instance, according to its
// InstanceInitiatedShutdownBehavior.
func (c *Cloud) PoweredOff(ctx context.Context, id string) error {
	out, err := c.ec2.DescribeInstanceAttribute(ctx, &ec2.DescribeInstanceAttributeInput{
		InstanceId: &id, Attribute: types.InstanceAttributeNameInstanceInitiatedShutdownBehavior,
	})
	if err != nil {
		return err
	}
	if aws.ToString(out.InstanceInitiatedShutdownBehavior.Value) == "terminate" {
		_, err = c.ec2.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{id}})
	} else {
		_, err = c.ec2.StopInstances(ctx, &ec2.StopInstancesInput{InstanceIds: []string{id}})
	}
	return err
}

// userData returns the decoded user data of an instance.
func (c *Cloud) userData(ctx context.Context, id string) ([]byte, error) {
	out, err := c.ec2.DescribeInstanceAttribute(ctx, &ec2.DescribeInstanceAttributeInput{InstanceId: &id, Attribute: types.InstanceAttributeNameUserData})
	if err != nil || out.UserData == nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(aws.ToString(out.UserData.Value))
}
