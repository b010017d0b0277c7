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

// Type is the description of an instance type.
type Type struct {
	Name string
	VCPU int
	// Memory is in MiB.
	Memory int
	// GPUs is the number of GPUs, GPU their name and Maker their manufacturer: "A10G" of "NVIDIA".
	GPUs  int
	GPU   string
	Maker string
	// GPUMemory is the memory of one GPU in MiB.
	GPUMemory int
	// Neuron is the number of Neuron accelerators. Agents do not support them, so they are not
	// slots.
	Neuron int
	// Architectures lists "amd64" and "arm64", Go's names.
	Architectures []string
	// Spot reports whether the type is available as a spot instance.
	Spot bool
}

// Slots returns the number of slots of an agent on an instance of this type.
func (t Type) Slots() int { return t.GPUs }

// String formats the type for display: "g5.xlarge (4 vCPU, 16 GB, 1 x A10G)".
func (t Type) String() string {
	s := fmt.Sprintf("%s (%d vCPU, %d GB", t.Name, t.VCPU, t.Memory>>10)
	if t.GPUs > 0 {
		s += fmt.Sprintf(", %d x %s", t.GPUs, t.GPU)
	}
	return s + ")"
}

// Types returns the instance types with these names, or all types without names. Types that do not
// exist in the region are missing in the result.
func (f Facts) Types(ctx context.Context, names ...string) (map[string]Type, error) {
	in := &ec2.DescribeInstanceTypesInput{}
	if len(names) > 0 {
		// A filter, because the call fails if InstanceTypes contains an unknown name.
		in.Filters = []types.Filter{{Name: aws.String("instance-type"), Values: sortUnique(names)}}
	}
	out := map[string]Type{}
	p := ec2.NewDescribeInstanceTypesPaginator(f.Clients.EC2, in)
	for p.HasMorePages() {
		page, err := p.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("list instance types: %w", err)
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

// goArchitectures converts EC2's architectures to Go's. It omits the 32-bit architecture of old
// types.
func goArchitectures(in []types.ArchitectureType) []string {
	var out []string
	for _, a := range in {
		switch a { //nolint:exhaustive // no release for other architectures
		case types.ArchitectureTypeX8664:
			out = append(out, "amd64")
		case types.ArchitectureTypeArm64:
			out = append(out, "arm64")
		}
	}
	return out
}

// Offered returns the zones of the region that offer each of these instance types.
func (f Facts) Offered(ctx context.Context, names ...string) (map[string][]string, error) {
	out := map[string][]string{}
	p := ec2.NewDescribeInstanceTypeOfferingsPaginator(f.Clients.EC2, &ec2.DescribeInstanceTypeOfferingsInput{
		LocationType: types.LocationTypeAvailabilityZone,
		Filters:      []types.Filter{{Name: aws.String("instance-type"), Values: sortUnique(names)}},
	})
	for p.HasMorePages() {
		page, err := p.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("list the zones of instance types: %w", err)
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

// GPUTypes returns the region's instance types with GPUs, smallest first.
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
