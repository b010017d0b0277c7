package awstest

import (
	"encoding/base64"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

func instanceLook() look[types.Instance] {
	return look[types.Instance]{
		absent: "InvalidInstanceID.NotFound",
		tags:   func(v types.Instance) []types.Tag { return v.Tags },
		field: func(v types.Instance, name string) (out []string, ok bool) {
			switch name {
			case "instance-id":
				return []string{*v.InstanceId}, true
			case "instance-state-name":
				return []string{string(v.State.Name)}, true
			case "instance-type":
				return []string{string(v.InstanceType)}, true
			case "instance-lifecycle":
				return []string{string(v.InstanceLifecycle)}, true
			case "image-id":
				return []string{aws.ToString(v.ImageId)}, true
			case "key-name":
				return []string{aws.ToString(v.KeyName)}, true
			case "client-token":
				return []string{aws.ToString(v.ClientToken)}, true
			case "vpc-id":
				return []string{aws.ToString(v.VpcId)}, true
			case "subnet-id":
				return []string{aws.ToString(v.SubnetId)}, true
			case "availability-zone":
				return []string{aws.ToString(v.Placement.AvailabilityZone)}, true
			case "spot-instance-request-id":
				return []string{aws.ToString(v.SpotInstanceRequestId)}, true
			case "iam-instance-profile.arn":
				if v.IamInstanceProfile != nil {
					out = []string{aws.ToString(v.IamInstanceProfile.Arn)}
				}
				return out, true
			}
			return nil, false
		},
	}
}

// describeInstances returns reservations. The page size counts reservations.
func (s *site) describeInstances(in *ec2.DescribeInstancesInput) (*ec2.DescribeInstancesOutput, error) {
	if len(in.InstanceIds) > 0 && in.MaxResults != nil {
		return nil, refuse(400, "InvalidParameterCombination", "The parameter instancesSet cannot be used with the parameter maxResults")
	}
	all, err := find(s.ec2.instances, in.InstanceIds, in.Filters, instanceLook())
	if err != nil {
		return nil, err
	}
	some, next, err := page(s, s.reserved(all), in.NextToken, in.MaxResults)
	return &ec2.DescribeInstancesOutput{Reservations: some, NextToken: next}, err
}

func (s *site) reserved(all []types.Instance) []types.Reservation {
	var out []types.Reservation
	for _, v := range all {
		id := s.ec2.machines[*v.InstanceId].reservation
		i := slices.IndexFunc(out, func(r types.Reservation) bool { return *r.ReservationId == id })
		if i < 0 {
			out = append(out, types.Reservation{ReservationId: &id, OwnerId: aws.String(Account)})
			i = len(out) - 1
		}
		out[i].Instances = append(out[i].Instances, v)
	}
	return out
}

func noInstance(id string) error {
	return refuse(400, "InvalidInstanceID.NotFound", "The instance ID '"+id+"' does not exist")
}

func (s *site) modifyInstanceAttribute(in *ec2.ModifyInstanceAttributeInput) (*ec2.ModifyInstanceAttributeOutput, error) {
	v, ok := s.ec2.instances.ask(aws.ToString(in.InstanceId))
	if !ok {
		return nil, noInstance(aws.ToString(in.InstanceId))
	}
	m := s.ec2.machines[*v.InstanceId]
	stopped := v.State.Name == types.InstanceStateNameStopped
	switch {
	case (in.InstanceType != nil || in.UserData != nil) && !stopped:
		return nil, refuse(400, "IncorrectInstanceState", "The instance '"+*v.InstanceId+"' is not in the 'stopped' state.")
	case in.DisableApiTermination != nil:
		m.protected = aws.ToBool(in.DisableApiTermination.Value)
	case in.InstanceInitiatedShutdownBehavior != nil:
		m.shutdown = types.ShutdownBehavior(aws.ToString(in.InstanceInitiatedShutdownBehavior.Value))
	case in.InstanceType != nil:
		name := aws.ToString(in.InstanceType.Value)
		if m, known := modelOf(name); known && string(m.arch) != string(v.Architecture) {
			return nil, invalid("The instance type '%s' does not run what instance '%s' boots from.", name, *v.InstanceId)
		}
		v.InstanceType = types.InstanceType(name)
	case in.UserData != nil:
		m.userData = string(in.UserData.Value)
	case len(in.Groups) > 0:
		return &ec2.ModifyInstanceAttributeOutput{}, s.regroup(v, in.Groups)
	case in.SourceDestCheck == nil && in.EbsOptimized == nil && len(in.BlockDeviceMappings) == 0:
		return nil, missing("attribute")
	}
	return &ec2.ModifyInstanceAttributeOutput{}, nil
}

func (s *site) modifyMetadata(in *ec2.ModifyInstanceMetadataOptionsInput) (*ec2.ModifyInstanceMetadataOptionsOutput, error) {
	v, ok := s.ec2.instances.ask(aws.ToString(in.InstanceId))
	if !ok {
		return nil, noInstance(aws.ToString(in.InstanceId))
	}
	o := *v.MetadataOptions
	if in.HttpTokens != "" {
		o.HttpTokens = in.HttpTokens
	}
	if in.HttpEndpoint != "" {
		o.HttpEndpoint = in.HttpEndpoint
	}
	if in.HttpPutResponseHopLimit != nil {
		o.HttpPutResponseHopLimit = in.HttpPutResponseHopLimit
	}
	if in.InstanceMetadataTags != "" {
		o.InstanceMetadataTags = in.InstanceMetadataTags
	}
	v.MetadataOptions = &o
	return &ec2.ModifyInstanceMetadataOptionsOutput{InstanceId: v.InstanceId, InstanceMetadataOptions: &o}, nil
}

func (s *site) regroup(v *types.Instance, ids []string) error {
	groups, err := s.groupsOf(ids, *v.VpcId)
	if err != nil {
		return err
	}
	v.SecurityGroups = groups
	v.NetworkInterfaces = slices.Clone(v.NetworkInterfaces)
	for i := range v.NetworkInterfaces {
		v.NetworkInterfaces[i].Groups = groups
	}
	if n := s.nicOf(*v.InstanceId); n != nil {
		n.Groups = groups
	}
	return nil
}

func (s *site) getConsoleOutput(in *ec2.GetConsoleOutputInput) (*ec2.GetConsoleOutputOutput, error) {
	v, ok := s.ec2.instances.ask(aws.ToString(in.InstanceId))
	if !ok {
		return nil, noInstance(aws.ToString(in.InstanceId))
	}
	text := base64.StdEncoding.EncodeToString([]byte(s.ec2.machines[*v.InstanceId].console))
	return &ec2.GetConsoleOutputOutput{InstanceId: v.InstanceId, Output: &text, Timestamp: aws.Time(s.now())}, nil
}
