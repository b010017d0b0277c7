package compute

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/storage"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Master is the machine on which the master runs. Its data is on a Volume, so
// that it can be replaced.
type Master struct {
	In *mark.Cluster
	// Name is "master".
	Name string
	// Image and Type are what it boots from and on: "ami-0ab1", "m6i.large".
	// Another image is noted and not taken, unless ReplaceImage is set.
	Image, Type string
	// RootDevice is what Image calls its first disk; empty asks Amazon.
	RootDevice   string
	ReplaceImage bool
	// Architecture is Type's as EC2 spells it: "x86_64", "arm64". A machine of
	// another one is replaced, because its disk does not boot there; empty is any.
	Architecture types.ArchitectureValues
	Subnet       infra.Ref
	Groups       []infra.Ref
	// Profile's identity is the name of an instance profile.
	Profile infra.Ref
	// KeyPair allows to log in; it may be empty.
	KeyPair string
	// PrivateIP is its address within Subnet; Amazon chooses when it is zero.
	PrivateIP netip.Addr
	// PublicIP gives it a public address from the start, with which it fetches
	// the program before an Association has it lead to another.
	PublicIP bool
	// RootGiB is the size of its own disk.
	RootGiB int32
	// UserData makes what it is given on its first boot, once all that it needs exists;
	// nil gives nothing. A change does not matter to a machine that has booted.
	UserData func(context.Context) ([]byte, error)
	// After is what has to be there before it boots, beyond what it points at.
	After []string

	infra.Learned
	image string
}

// ID is "aws/instance/" and its name.
func (m *Master) ID() string { return mark.ResourceID(mark.KindInstance, m.Name) }

// Define says what is wanted.
func (m *Master) Define() infra.Definition[types.Instance] {
	d := mark.Define(m.In, Masters(m.In), m.Name, &m.Learned)
	d.Needs, d.Needed = m.listNeeds(), []infra.Ref{m.Subnet}
	d.Create, d.Compare, d.Change, d.Describe = m.createMaster, m.compareLive, m.fixDrift, m.describeSettings
	return d
}

// describeSettings lists its type, image and disk, and who may log in.
func (m *Master) describeSettings() []string {
	out := []string{fmt.Sprintf("%s, %s, root volume of %s gp3", m.Type, m.Image, storage.GiB(m.RootGiB))}
	if m.KeyPair != "" {
		out = append(out, "key pair "+m.KeyPair)
	}
	return out
}

// listNeeds lists its network, profile and groups, and what comes before it.
func (m *Master) listNeeds() []string {
	out := append(infra.NeedsOf(append([]infra.Ref{m.Subnet, m.Profile}, m.Groups...)...), m.After...)
	slices.Sort(out)
	return slices.Compact(out)
}

func (m *Master) compareLive(ctx context.Context, live types.Instance) ([]resource.Drift, error) {
	m.image = aws.ToString(live.ImageId)
	drift, err := m.diskDrift(ctx, live)
	return slices.Concat(m.fixedDrift(live), m.changeableDrift(live), drift), err
}

// fixedDrift compares what another machine is needed for, as far as anything is wanted.
func (m *Master) fixedDrift(live types.Instance) []resource.Drift {
	image, profile := m.Image, m.Profile.Identity()
	if !m.ReplaceImage {
		image = m.image
	}
	var out []resource.Drift
	compare := func(path, have, want string) {
		if have != want {
			out = append(out, resource.Drift{Path: path, Have: have, Want: want, Replace: true})
		}
	}
	compare("subnet", aws.ToString(live.SubnetId), m.Subnet.Identity())
	if profile != "" {
		compare("profile", profileOf(live), profile)
	}
	compare("key-pair", aws.ToString(live.KeyName), m.KeyPair)
	if want := m.privateIP(); want != "" {
		compare("private-ip", aws.ToString(live.PrivateIpAddress), want)
	}
	compare("image", m.image, image)
	if m.Architecture != "" && live.Architecture != "" {
		compare("architecture", string(live.Architecture), string(m.Architecture))
	}
	return out
}

// changeableDrift compares what can be changed on a machine. A type needs a stop.
func (m *Master) changeableDrift(live types.Instance) []resource.Drift {
	var out []resource.Drift
	if have := string(live.InstanceType); have != m.Type {
		out = append(out, resource.Drift{Path: "type", Have: have, Want: m.Type + " (stops the master for a few minutes)"})
	}
	if have, want := groupsOf(live), m.groupNames(); !slices.Equal(have, want) {
		out = append(out, resource.Drift{Path: "groups", Have: strings.Join(have, ", "), Want: strings.Join(want, ", ")})
	}
	if s := stateOf(live); s == types.InstanceStateNameStopped || s == types.InstanceStateNameStopping {
		out = append(out, resource.Drift{Path: "state", Have: string(s), Want: string(types.InstanceStateNameRunning)})
	}
	return append(out, metadataDrift(live.MetadataOptions)...)
}

// metadataHops is how far an answer of the metadata service goes: to the machine and
// not into a container on it. The master is a program of its machine, no task runs
// there, and its role may do much.
const metadataHops = 1

// metadataDrift compares who gets at the machine's credentials.
func metadataDrift(o *types.InstanceMetadataOptionsResponse) []resource.Drift {
	var out []resource.Drift
	if o == nil {
		return nil
	}
	if o.HttpTokens != types.HttpTokensStateRequired {
		out = append(out, resource.Drift{Path: "metadata-tokens", Have: string(o.HttpTokens), Want: string(types.HttpTokensStateRequired)})
	}
	if hops := aws.ToInt32(o.HttpPutResponseHopLimit); hops > metadataHops {
		out = append(out, resource.Drift{Path: "metadata-hops", Have: strconv.Itoa(int(hops)), Want: strconv.Itoa(metadataHops)})
	}
	return out
}

// createMaster starts it. Amazon takes the nonce as its token.
func (m *Master) createMaster(ctx context.Context, nonce string) error {
	data, err := m.userData(ctx)
	if err != nil {
		return err
	}
	root, err := m.rootDevice(ctx)
	if err != nil {
		return err
	}
	in := m.launchRequest(nonce, root)
	in.UserData = aws.String(base64.StdEncoding.EncodeToString(data))
	// A new profile, group or subnet is not known at once to who starts machines.
	return m.In.Waiter().RetryOn(ctx, m.ID(), toBeUsable, cloud.NotFound, func() error {
		out, err := m.In.Clients.EC2.RunInstances(ctx, in)
		if err == nil && len(out.Instances) == 1 {
			m.Learn(aws.ToString(out.Instances[0].InstanceId))
			m.image = m.Image
		}
		return err
	})
}

func (m *Master) userData(ctx context.Context) ([]byte, error) {
	if m.UserData == nil {
		return nil, nil
	}
	return m.UserData(ctx)
}

func (m *Master) launchRequest(nonce, root string) *ec2.RunInstancesInput {
	marks := m.In.Marks(m.Name, nonce)
	own := m.In.ChangingTags(m.Name) // its disk and interface go with it
	own[mark.ClusterTag] = m.In.ID
	in := &ec2.RunInstancesInput{
		ImageId: aws.String(m.Image), InstanceType: types.InstanceType(m.Type),
		MinCount: aws.Int32(1), MaxCount: aws.Int32(1), ClientToken: aws.String(nonce),
		DisableApiTermination: aws.Bool(true),
		MetadataOptions: &types.InstanceMetadataOptionsRequest{
			HttpTokens: types.HttpTokensStateRequired, HttpPutResponseHopLimit: aws.Int32(metadataHops),
			HttpEndpoint: types.InstanceMetadataEndpointStateEnabled,
		},
		BlockDeviceMappings: []types.BlockDeviceMapping{{DeviceName: aws.String(root), Ebs: &types.EbsBlockDevice{
			VolumeSize: aws.Int32(m.RootGiB), VolumeType: types.VolumeTypeGp3, Encrypted: aws.Bool(true), DeleteOnTermination: aws.Bool(true),
		}}},
		NetworkInterfaces: []types.InstanceNetworkInterfaceSpecification{{
			DeviceIndex: aws.Int32(0), SubnetId: aws.String(m.Subnet.Identity()), Groups: m.groupNames(),
			AssociatePublicIpAddress: aws.Bool(m.PublicIP), DeleteOnTermination: aws.Bool(true),
		}},
		TagSpecifications: slices.Concat(mark.TagSpec(types.ResourceTypeInstance, marks),
			mark.TagSpec(types.ResourceTypeVolume, own), mark.TagSpec(types.ResourceTypeNetworkInterface, own)),
	}
	if m.PrivateIP.IsValid() {
		in.NetworkInterfaces[0].PrivateIpAddress = aws.String(m.privateIP())
	}
	if m.KeyPair != "" {
		in.KeyName = aws.String(m.KeyPair)
	}
	if m.Profile.Identity() != "" {
		in.IamInstanceProfile = &types.IamInstanceProfileSpecification{Name: aws.String(m.Profile.Identity())}
	}
	return in
}

// rootDevice is what the image calls its first disk.
func (m *Master) rootDevice(ctx context.Context) (string, error) {
	if m.RootDevice != "" {
		return m.RootDevice, nil
	}
	out, err := m.In.Clients.EC2.DescribeImages(ctx, &ec2.DescribeImagesInput{ImageIds: []string{m.Image}})
	if err != nil {
		return "", err
	}
	if len(out.Images) == 0 {
		return "", infra.Missing("ec2:DescribeImages", m.Image)
	}
	return aws.ToString(out.Images[0].RootDeviceName), nil
}

func (m *Master) groupNames() []string {
	var out []string
	for _, g := range m.Groups {
		out = append(out, infra.NameOf(g))
	}
	slices.Sort(out)
	return out
}

func (m *Master) privateIP() string {
	if !m.PrivateIP.IsValid() {
		return ""
	}
	return m.PrivateIP.String()
}

func groupsOf(i types.Instance) []string {
	var out []string
	for _, n := range i.NetworkInterfaces {
		for _, g := range n.Groups {
			out = append(out, aws.ToString(g.GroupId))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// profileOf is the name at the end of a profile's ARN.
func profileOf(i types.Instance) string {
	if i.IamInstanceProfile == nil {
		return ""
	}
	arn := aws.ToString(i.IamInstanceProfile.Arn)
	return arn[strings.LastIndex(arn, "/")+1:]
}
