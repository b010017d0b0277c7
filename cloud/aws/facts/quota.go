package facts

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/servicequotas"
	"golang.org/x/sync/errgroup"
)

// Quota is a quota of the account in the region.
type Quota struct {
	// Service and Code identify the quota in Service Quotas.
	Service, Code string
	// What describes the limited resource: "vCPUs of on-demand G and VT instances".
	What string
}

// The quotas other than vCPUs. The codes are from Amazon's endpoints and quotas pages.
func addressQuota() Quota { return Quota{"ec2", "L-0263D0A3", "Elastic IP addresses"} }
func vpcQuota() Quota     { return Quota{"vpc", "L-F678F1CE", "VPCs"} }

// class is a group of instance families that share a vCPU quota.
type class struct {
	families       []string
	what           string
	onDemand, spot string
}

// quotaClasses returns the groups with Amazon's quota codes. The families of the standard group are
// single letters. All others are matched by prefix, longer prefixes first, because "inf" is not "i"
// and "trn" is not "t".
func quotaClasses() []class {
	return []class{
		{[]string{"inf"}, "Inf", "L-1945791B", "L-B5D1601B"},
		{[]string{"trn"}, "Trn", "L-2C3B7624", "L-6B0D517C"},
		{[]string{"hpc"}, "HPC", "L-F7808C92", ""},
		{[]string{"dl"}, "DL", "L-6E869C2A", "L-85EED4F7"},
		{[]string{"g", "gr", "vt"}, "G and VT", "L-DB2E81BA", "L-3819A6DF"},
		{[]string{"u"}, "High Memory", "L-43DA4232", ""},
		{[]string{"f"}, "F", "L-74FC7D96", "L-88CF9481"},
		{[]string{"p"}, "P", "L-417A185B", "L-7212CCBC"},
		{[]string{"x"}, "X", "L-7295265B", "L-E3A00192"},
		{[]string{"a", "c", "d", "h", "i", "im", "is", "m", "r", "t", "z"}, "standard", "L-1216C47A", "L-34B43A08"},
	}
}

// VCPUQuota returns the vCPU quota of an instance type. It returns false if the type has no quota
// or the quota is unknown.
func VCPUQuota(instanceType string, spot bool) (Quota, bool) {
	family := strings.ToLower(instanceType[:len(instanceType)-len(strings.TrimLeft(instanceType, letters))])
	for _, c := range quotaClasses() {
		for _, f := range c.families {
			if f != family {
				continue
			}
			if spot && family == "p" && strings.HasPrefix(instanceType, "p5") {
				// Not for the generations before P5 and, so far, not for those after it.
				return Quota{"ec2", "L-C4BD4855", "vCPUs of P5 spot instances"}, true
			}
			if spot {
				return Quota{"ec2", c.spot, "vCPUs of " + c.what + " spot instances"}, c.spot != ""
			}
			return Quota{"ec2", c.onDemand, "vCPUs of " + c.what + " on-demand instances"}, true
		}
	}
	return Quota{}, false
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// Console returns the URL of the page for requesting an increase.
func (q Quota) Console(region string) string {
	return fmt.Sprintf("https://%s.console.aws.amazon.com/servicequotas/home/services/%s/quotas/%s", region, q.Service, q.Code)
}

// Limit returns the applied value of a quota.
func (f Facts) Limit(ctx context.Context, q Quota) (int, error) {
	out, err := f.Clients.Quotas.GetServiceQuota(ctx, &servicequotas.GetServiceQuotaInput{
		ServiceCode: aws.String(q.Service), QuotaCode: aws.String(q.Code),
	})
	if err != nil {
		return 0, fmt.Errorf("get the quota of %s: %w", q.What, err)
	}
	if out.Quota == nil {
		return 0, fmt.Errorf("get the quota of %s: the response contains no value", q.What)
	}
	return int(aws.ToFloat64(out.Quota.Value)), nil
}

// Machine describes a running instance for the calculation of quotas.
type Machine struct {
	Type string
	Spot bool
	// Cluster is the ID of its cluster, if any.
	Cluster string
}

// Running returns all instances of the account in the region that count against quotas.
func (f Facts) Running(ctx context.Context) ([]Machine, error) {
	var out []Machine
	p := ec2.NewDescribeInstancesPaginator(f.Clients.EC2, &ec2.DescribeInstancesInput{
		Filters: []types.Filter{{Name: aws.String("instance-state-name"), Values: []string{"pending", "running"}}},
	})
	for p.HasMorePages() {
		page, err := p.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("list running instances: %w", err)
		}
		for _, r := range page.Reservations {
			for _, i := range r.Instances {
				out = append(out, machineOf(i))
			}
		}
	}
	return out, nil
}

func machineOf(i types.Instance) Machine {
	return Machine{Type: string(i.InstanceType), Spot: i.InstanceLifecycle == types.InstanceLifecycleTypeSpot, Cluster: clusterIn(i.Tags)}
}

// clusterIn returns the cluster ID in tags, or "".
func clusterIn(tags []types.Tag) string {
	for _, t := range tags {
		if aws.ToString(t.Key) == clusterTag {
			return aws.ToString(t.Value)
		}
	}
	return ""
}

// UsedVCPUs returns the vCPUs that count against a quota, except those of a cluster.
func (f Facts) UsedVCPUs(ctx context.Context, running []Machine, q Quota, cluster string) (int, error) {
	var names []string
	for _, m := range running {
		if of, ok := VCPUQuota(m.Type, m.Spot); ok && of == q && m.Cluster != cluster {
			names = append(names, m.Type)
		}
	}
	if len(names) == 0 {
		return 0, nil
	}
	known, err := f.Types(ctx, names...)
	sum := 0
	for _, name := range names {
		sum += known[name].VCPU
	}
	return sum, err
}

// clusterTag is the tag of all objects of a cluster.
const clusterTag = "det-deploy-cluster"

// Room is a quota and its usage.
type Room struct {
	Quota
	Limit, Used int
}

// Free returns the unused part of a quota.
func (r Room) Free() int { return max(r.Limit-r.Used, 0) }

// Addresses returns the quota and the usage of Elastic IP addresses.
func (f Facts) Addresses(ctx context.Context) (Room, error) {
	return f.room(ctx, addressQuota(), func() (int, error) {
		out, err := f.Clients.EC2.DescribeAddresses(ctx, &ec2.DescribeAddressesInput{})
		if err != nil {
			return 0, fmt.Errorf("list Elastic IPs: %w", err)
		}
		return len(out.Addresses), nil
	})
}

// room queries a quota and its usage.
func (f Facts) room(ctx context.Context, q Quota, count func() (int, error)) (Room, error) {
	var limit, used int
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		limit, err = f.Limit(ctx, q)
		return err
	})
	g.Go(func() (err error) {
		used, err = count()
		return err
	})
	err := g.Wait()
	return Room{q, limit, used}, err
}

// VPCs returns the quota and the usage of VPCs.
func (f Facts) VPCs(ctx context.Context) (Room, error) {
	return f.room(ctx, vpcQuota(), func() (int, error) {
		used := 0
		p := ec2.NewDescribeVpcsPaginator(f.Clients.EC2, &ec2.DescribeVpcsInput{})
		for p.HasMorePages() {
			page, err := p.NextPage(ctx)
			if err != nil {
				return 0, fmt.Errorf("list VPCs: %w", err)
			}
			used += len(page.Vpcs)
		}
		return used, nil
	})
}
