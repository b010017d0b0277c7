package awstest_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/api"
	awstest "github.com/det-deploy/det-deploy/test/fake/aws"
	motest "github.com/det-deploy/det-deploy/test/moto"
)

// stand is an empty account in which a fact is tested.
type stand struct {
	api.Clients
	amd64, arm64 string // images
}

// fact is a behavior of AWS that det-deploy relies on.
type fact struct {
	name string
	// moto is the reason why moto differs, if it does.
	moto  string
	check func(t *testing.T, s stand)
}

func facts() []fact {
	var out []fact
	for _, some := range [][]fact{netFacts(), groupFacts(), machineFacts(), diskFacts(), roleFacts(), bucketFacts(), vaultFacts(), logFacts()} {
		out = append(out, some...)
	}
	return out
}

// The in-memory fake and moto, a third-party emulator used over HTTP, agree on the behavior of AWS.
func TestContract(t *testing.T) {
	t.Parallel()
	t.Run("in memory", func(t *testing.T) {
		t.Parallel()
		for _, f := range facts() {
			t.Run(f.name, func(t *testing.T) {
				t.Parallel()
				w := awstest.New(awstest.Options{})
				f.check(t, stand{w.Clients(nil), awstest.ImageAMD64, awstest.ImageARM64})
			})
		}
	})
	t.Run("moto", func(t *testing.T) {
		t.Parallel()
		for _, f := range facts() {
			t.Run(f.name, func(t *testing.T) {
				t.Parallel()
				if f.moto != "" {
					t.Skip("moto: " + f.moto)
				}
				a := motest.Open(t)
				f.check(t, stand{api.New(a.Config(), api.Options{}), motest.ImageAMD64, motest.ImageARM64})
			})
		}
	})
}

func (s stand) vpc(t *testing.T, cidr string) string {
	t.Helper()
	out, err := s.EC2.CreateVpc(t.Context(), &ec2.CreateVpcInput{CidrBlock: &cidr, TagSpecifications: tags(types.ResourceTypeVpc, "lab")})
	must(t, err)
	return *out.Vpc.VpcId
}

func (s stand) subnet(t *testing.T, vpc, cidr string) string {
	t.Helper()
	out, err := s.EC2.CreateSubnet(t.Context(), &ec2.CreateSubnetInput{VpcId: &vpc, CidrBlock: &cidr, AvailabilityZone: aws.String("us-west-2a"), TagSpecifications: tags(types.ResourceTypeSubnet, "lab")})
	must(t, err)
	return *out.Subnet.SubnetId
}

func (s stand) group(t *testing.T, vpc, name string) string {
	t.Helper()
	out, err := s.EC2.CreateSecurityGroup(t.Context(), &ec2.CreateSecurityGroupInput{VpcId: &vpc, GroupName: &name, Description: aws.String("test")})
	must(t, err)
	return *out.GroupId
}

// gateway creates and attaches an internet gateway.
func (s stand) gateway(t *testing.T, vpc string) string {
	t.Helper()
	out, err := s.EC2.CreateInternetGateway(t.Context(), &ec2.CreateInternetGatewayInput{})
	must(t, err)
	id := *out.InternetGateway.InternetGatewayId
	get[*ec2.AttachInternetGatewayOutput](t)(s.EC2.AttachInternetGateway(t.Context(), &ec2.AttachInternetGatewayInput{VpcId: &vpc, InternetGatewayId: &id}))
	return id
}

// machine launches an instance with a request modified by f.
func (s stand) machine(t *testing.T, f func(*ec2.RunInstancesInput)) types.Instance {
	t.Helper()
	out, err := s.EC2.RunInstances(t.Context(), s.launch(f))
	must(t, err)
	return out.Instances[0]
}

func (s stand) launch(f func(*ec2.RunInstancesInput)) *ec2.RunInstancesInput {
	in := &ec2.RunInstancesInput{ImageId: &s.amd64, InstanceType: "t3.medium", MinCount: aws.Int32(1), MaxCount: aws.Int32(1)}
	if f != nil {
		f(in)
	}
	return in
}

func (s stand) instance(t *testing.T, id string) types.Instance {
	t.Helper()
	out, err := s.EC2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
	must(t, err)
	return out.Reservations[0].Instances[0]
}

func (s stand) end(t *testing.T, id string) {
	t.Helper()
	get[*ec2.TerminateInstancesOutput](t)(s.EC2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{id}}))
}

func tags(kind types.ResourceType, cluster string) []types.TagSpecification {
	return []types.TagSpecification{{ResourceType: kind, Tags: []types.Tag{{Key: aws.String("det-deploy-cluster"), Value: &cluster}}}}
}

func byTag(cluster string) []types.Filter {
	return []types.Filter{{Name: aws.String("tag:det-deploy-cluster"), Values: []string{cluster}}}
}

// refused returns a check for calls that must return an error of a kind.
func refused[T any](t *testing.T, want cloud.Kind) func(T, error) {
	return func(_ T, err error) {
		t.Helper()
		wantKind(t, err, want)
	}
}
