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

// Master is the instance of the master. The master's data is on a Volume, so that the instance can
// be replaced.
type Master struct {
	In *mark.Cluster
	// Name is "master".
	Name string
	// Image and Type are the AMI and the instance type: "ami-0ab1", "m6i.large". A new image is
	// used only if ReplaceImage is set.
	Image, Type string
	// RootDevice is the device name of Image's root volume. If it is empty, EC2 is queried.
	RootDevice   string
	ReplaceImage bool
	// Architecture is EC2's architecture of Type: "x86_64", "arm64". An instance of another
	// architecture is replaced, because its volume does not boot there. Empty matches any.
	Architecture types.ArchitectureValues
	Subnet       infra.Ref
	Groups       []infra.Ref
	// Profile refers to an instance profile; its identity is the profile's name.
	Profile infra.Ref
	// KeyPair is the key pair for SSH. It may be empty.
	KeyPair string
	// PrivateIP is the address within Subnet. If it is zero, Amazon chooses it.
	PrivateIP netip.Addr
	// PublicIP assigns a public address at launch, with which the instance downloads the program
	// before an Association replaces the address.
	PublicIP bool
	// RootGiB is the size of the root volume.
	RootGiB int32
	// UserData returns the user data for the first boot. It is called once all dependencies exist.
	// Nil means no user data. Later changes have no effect on an instance that has booted.
	UserData func(context.Context) ([]byte, error)
	// After lists additional resources that must exist before it boots.
	After []string

	infra.Learned
	image string
}

// ID returns the resource ID "aws/instance/NAME".
func (m *Master) ID() string { return mark.ResourceID(mark.KindInstance, m.Name) }

// Define implements infra.Defined.
func (m *Master) Define() infra.Definition[types.Instance] {
	d := mark.Define(m.In, Masters(m.In), m.Name, &m.Learned)
	d.Needs, d.Needed = m.listNeeds(), []infra.Ref{m.Subnet}
	d.Create, d.Compare, d.Change, d.Describe = m.createMaster, m.compareLive, m.fixDrift, m.describeSettings
	return d
}

// describeSettings returns the type, image, root volume and key pair for the plan.
func (m *Master) describeSettings() []string {
	out := []string{fmt.Sprintf("%s, %s, root volume of %s gp3", m.Type, m.Image, storage.GiB(m.RootGiB))}
	if m.KeyPair != "" {
		out = append(out, "key pair "+m.KeyPair)
	}
	return out
}

// listNeeds returns the IDs of its subnet, profile and groups, and those of After.
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

// fixedDrift compares the attributes that require a replacement, as far as they are configured.
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

// changeableDrift compares the attributes that can be changed in place. Changing the type requires
// a stop.
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

// metadataHops is the hop limit of metadata responses: they reach the instance and no container on
// it. The master runs on the instance itself, no tasks run there, and its role has extensive
// permissions.
const metadataHops = 1

// metadataDrift compares the access restrictions of the metadata service, which provides the
// instance's credentials.
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

// createMaster launches the instance with the nonce as the client token.
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
	// A new profile, group or subnet is not immediately visible to RunInstances.
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
	own := m.In.ChangingTags(m.Name) // its root volume and interface, which are deleted with it
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

// rootDevice returns the device name of the image's root volume.
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

// profileOf returns the name in the ARN of an instance's profile.
func profileOf(i types.Instance) string {
	if i.IamInstanceProfile == nil {
		return ""
	}
	arn := aws.ToString(i.IamInstanceProfile.Arn)
	return arn[strings.LastIndex(arn, "/")+1:]
}
