package awstest

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// model describes an instance type.
type model struct {
	name      string
	vcpu      int32
	memoryMiB int64
	arch      types.ArchitectureType
	gpus      int32
	gpu       string
	gpuMiB    int32
	// zones holds the letters of the zones that offer it.
	zones string
}

// models returns a selection of EC2's instance types with Amazon's published data. Not every zone
// offers each.
func models() []model {
	const x86, arm = types.ArchitectureTypeX8664, types.ArchitectureTypeArm64
	return []model{
		{"t3.micro", 2, 1024, x86, 0, "", 0, "abc"},
		{"t3.medium", 2, 4096, x86, 0, "", 0, "abc"},
		{"t4g.medium", 2, 4096, arm, 0, "", 0, "abc"},
		{"m5.large", 2, 8192, x86, 0, "", 0, "abc"},
		{"m6i.large", 2, 8192, x86, 0, "", 0, "abc"},
		{"m6i.xlarge", 4, 16384, x86, 0, "", 0, "abc"},
		{"m6g.large", 2, 8192, arm, 0, "", 0, "abc"},
		{"c5.2xlarge", 8, 16384, x86, 0, "", 0, "abc"},
		{"g4dn.xlarge", 4, 16384, x86, 1, "T4", 15360, "abc"},
		{"g5.xlarge", 4, 16384, x86, 1, "A10G", 22888, "ab"},
		{"g5.12xlarge", 48, 196608, x86, 4, "A10G", 22888, "ab"},
		{"g4ad.xlarge", 4, 16384, x86, 1, "Radeon Pro V520", 8192, "abc"},
		{"g6.xlarge", 4, 16384, x86, 1, "L4", 22888, "c"},
		{"p3.2xlarge", 8, 62464, x86, 1, "V100", 16384, "abc"},
		{"dl1.24xlarge", 96, 786432, x86, 8, "Gaudi HL-205", 32768, "abc"},
		{"p4d.24xlarge", 96, 1179648, x86, 8, "A100", 40960, "b"},
		{"p5.48xlarge", 192, 2097152, x86, 8, "H100", 81920, "c"},
	}
}

func modelOf(name string) (model, bool) {
	i := slices.IndexFunc(models(), func(m model) bool { return m.name == name })
	if i < 0 {
		return model{}, false
	}
	return models()[i], true
}

func (m model) in(zone string) bool {
	return zone != "" && strings.Contains(m.zones, zone[len(zone)-1:])
}

func (m model) maker() string {
	switch {
	case strings.HasPrefix(m.gpu, "Radeon"):
		return "AMD"
	case strings.HasPrefix(m.gpu, "Gaudi"):
		return "Habana"
	}
	return "NVIDIA"
}

func (m model) info() types.InstanceTypeInfo {
	t := types.InstanceTypeInfo{
		InstanceType: types.InstanceType(m.name), CurrentGeneration: aws.Bool(true), BareMetal: aws.Bool(false), Hypervisor: types.InstanceTypeHypervisorNitro,
		VCpuInfo:              &types.VCpuInfo{DefaultVCpus: aws.Int32(m.vcpu), DefaultCores: aws.Int32(m.vcpu / 2)},
		MemoryInfo:            &types.MemoryInfo{SizeInMiB: aws.Int64(m.memoryMiB)},
		ProcessorInfo:         &types.ProcessorInfo{SupportedArchitectures: []types.ArchitectureType{m.arch}},
		SupportedUsageClasses: []types.UsageClassType{types.UsageClassTypeOnDemand, types.UsageClassTypeSpot},
		SupportedRootDeviceTypes: []types.RootDeviceType{
			types.RootDeviceTypeEbs,
		},
	}
	if m.gpus > 0 {
		t.GpuInfo = &types.GpuInfo{
			Gpus:                []types.GpuDeviceInfo{{Name: aws.String(m.gpu), Manufacturer: aws.String(m.maker()), Count: aws.Int32(m.gpus), MemoryInfo: &types.GpuDeviceMemoryInfo{SizeInMiB: aws.Int32(m.gpuMiB)}}},
			TotalGpuMemoryInMiB: aws.Int32(m.gpus * m.gpuMiB),
		}
	}
	return t
}

func (s *site) describeInstanceTypes(in *ec2.DescribeInstanceTypesInput) (*ec2.DescribeInstanceTypesOutput, error) {
	var all []types.InstanceTypeInfo
	for _, m := range models() {
		if len(in.InstanceTypes) == 0 || slices.Contains(in.InstanceTypes, types.InstanceType(m.name)) {
			all = append(all, m.info())
		}
	}
	for _, t := range in.InstanceTypes {
		if _, ok := modelOf(string(t)); !ok {
			return nil, refuse(400, "InvalidInstanceType", "The following supplied instance types do not exist: ["+string(t)+"]")
		}
	}
	all, err := filterObjects(all, in.Filters, look[types.InstanceTypeInfo]{field: func(v types.InstanceTypeInfo, name string) (out []string, ok bool) {
		switch name {
		case "instance-type":
			return []string{string(v.InstanceType)}, true
		case "current-generation":
			return []string{truth(v.CurrentGeneration)}, true
		case "bare-metal":
			return []string{truth(v.BareMetal)}, true
		case "processor-info.supported-architecture":
			for _, a := range v.ProcessorInfo.SupportedArchitectures {
				out = append(out, string(a))
			}
			return out, true
		}
		return nil, false
	}})
	if err != nil {
		return nil, err
	}
	some, next, err := page(s, all, in.NextToken, in.MaxResults)
	return &ec2.DescribeInstanceTypesOutput{InstanceTypes: some, NextToken: next}, err
}

func (s *site) describeOfferings(in *ec2.DescribeInstanceTypeOfferingsInput) (*ec2.DescribeInstanceTypeOfferingsOutput, error) {
	var all []types.InstanceTypeOffering
	for _, m := range models() {
		if in.LocationType != types.LocationTypeAvailabilityZone {
			all = append(all, types.InstanceTypeOffering{InstanceType: types.InstanceType(m.name), Location: aws.String(s.region), LocationType: types.LocationTypeRegion})
			continue
		}
		for _, z := range s.zones() {
			if m.in(z) {
				all = append(all, types.InstanceTypeOffering{InstanceType: types.InstanceType(m.name), Location: aws.String(z), LocationType: in.LocationType})
			}
		}
	}
	all, err := filterObjects(all, in.Filters, look[types.InstanceTypeOffering]{field: func(v types.InstanceTypeOffering, name string) ([]string, bool) {
		switch name {
		case "instance-type":
			return []string{string(v.InstanceType)}, true
		case "location":
			return []string{*v.Location}, true
		}
		return nil, false
	}})
	if err != nil {
		return nil, err
	}
	some, next, err := page(s, all, in.NextToken, in.MaxResults)
	return &ec2.DescribeInstanceTypeOfferingsOutput{InstanceTypeOfferings: some, NextToken: next}, err
}
