package facts

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// Type is what Amazon says of an instance type.
type Type struct {
	Name string
	VCPU int
	// Memory is in MiB.
	Memory int
	// GPUs is how many GPUs it has, GPU what they are and Maker whose: "A10G" of
	// "NVIDIA".
	GPUs  int
	GPU   string
	Maker string
	// GPUMemory is that of one GPU in MiB.
	GPUMemory int
	// Neuron is how many of Amazon's own accelerators it has. The agent does not
	// know them: they are no slots.
	Neuron int
	// Architectures is "amd64" or "arm64", as Go names them.
	Architectures []string
	// Spot is true when it is offered as a spot instance.
	Spot bool
}

// Slots is how many slots an agent finds on a machine of this type.
func (t Type) Slots() int { return t.GPUs }

// String is how a person reads it: "g5.xlarge (4 vCPU, 16 GB, 1 x A10G)".
func (t Type) String() string {
	s := fmt.Sprintf("%s (%d vCPU, %d GB", t.Name, t.VCPU, t.Memory>>10)
	if t.GPUs > 0 {
		s += fmt.Sprintf(", %d x %s", t.GPUs, t.GPU)
	}
	return s + ")"
}

// Types asks for the types of these names, or for all without names. What
// does not exist in the region is missing from the answer.
func (f Facts) Types(ctx context.Context, names ...string) (map[string]Type, error) {
	in := &ec2.DescribeInstanceTypesInput{}
	if len(names) > 0 {
		// A filter, because a name that does not exist fails the whole call when
		// it is asked for by name.
		in.Filters = []types.Filter{{Name: aws.String("instance-type"), Values: sortUnique(names)}}
	}
	out := map[string]Type{}
	p := ec2.NewDescribeInstanceTypesPaginator(f.Clients.EC2, in)
	for p.HasMorePages() {
		page, err := p.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("ask for instance types: %w", err)
		}
		for _, info := range page.InstanceTypes {
			if t := typeOf(info); len(names) == 0 || slices.Contains(names, t.Name) {
				out[t.Name] = t
			}
		}
	}
	return out, nil
}

func typeOf(info types.InstanceTypeInfo) Type {
	t := Type{Name: string(info.InstanceType), Spot: len(info.SupportedUsageClasses) == 0}
	if info.VCpuInfo != nil {
		t.VCPU = int(aws.ToInt32(info.VCpuInfo.DefaultVCpus))
	}
	if info.MemoryInfo != nil {
		t.Memory = int(aws.ToInt64(info.MemoryInfo.SizeInMiB))
	}
	if info.GpuInfo != nil {
		for _, g := range info.GpuInfo.Gpus {
			t.GPUs += int(aws.ToInt32(g.Count))
			t.GPU, t.Maker = aws.ToString(g.Name), aws.ToString(g.Manufacturer)
			if g.MemoryInfo != nil {
				t.GPUMemory = int(aws.ToInt32(g.MemoryInfo.SizeInMiB))
			}
		}
	}
	if info.NeuronInfo != nil {
		for _, d := range info.NeuronInfo.NeuronDevices {
			t.Neuron += int(aws.ToInt32(d.Count))
		}
	}
	if info.ProcessorInfo != nil {
		t.Architectures = goArchitectures(info.ProcessorInfo.SupportedArchitectures)
	}
	t.Spot = t.Spot || slices.Contains(info.SupportedUsageClasses, types.UsageClassTypeSpot)
	return t
}

// goArchitectures leaves out the 32-bit one of old types.
func goArchitectures(in []types.ArchitectureType) []string {
	var out []string
	for _, a := range in {
		switch a { //nolint:exhaustive // nothing runs on the others
		case types.ArchitectureTypeX8664:
			out = append(out, "amd64")
		case types.ArchitectureTypeArm64:
			out = append(out, "arm64")
		}
	}
	return out
}

// Offered says in which zones of the region each of these types is offered.
func (f Facts) Offered(ctx context.Context, names ...string) (map[string][]string, error) {
	out := map[string][]string{}
	p := ec2.NewDescribeInstanceTypeOfferingsPaginator(f.Clients.EC2, &ec2.DescribeInstanceTypeOfferingsInput{
		LocationType: types.LocationTypeAvailabilityZone,
		Filters:      []types.Filter{{Name: aws.String("instance-type"), Values: sortUnique(names)}},
	})
	for p.HasMorePages() {
		page, err := p.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("ask where instance types are offered: %w", err)
		}
		for _, o := range page.InstanceTypeOfferings {
			if name := string(o.InstanceType); slices.Contains(names, name) {
				out[name] = append(out[name], aws.ToString(o.Location))
			}
		}
	}
	for _, zones := range out {
		slices.Sort(zones)
	}
	return out, nil
}

// GPUTypes lists the types with GPUs that the region has, the smallest first.
func (f Facts) GPUTypes(ctx context.Context) ([]Type, error) {
	all, err := f.Types(ctx)
	if err != nil {
		return nil, err
	}
	var out []Type
	for _, t := range all {
		if t.GPUs > 0 {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b Type) int {
		return cmp.Or(cmp.Compare(a.GPUs, b.GPUs), cmp.Compare(a.VCPU, b.VCPU), cmp.Compare(a.Name, b.Name))
	})
	return out, nil
}

func sortUnique(names []string) []string {
	out := slices.Clone(names)
	slices.Sort(out)
	return slices.Compact(out)
}
