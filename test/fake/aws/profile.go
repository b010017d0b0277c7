package awstest

import (
	"cmp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"
)

type profile struct {
	types.InstanceProfile
	role  string
	fresh int // remaining calls in which EC2 does not know it
}

func (s *site) profileNamed(name *string) (*profile, error) {
	p, ok := s.iam.profiles.get(aws.ToString(name))
	if !ok {
		return nil, refuse(404, "NoSuchEntity", "Instance Profile "+aws.ToString(name)+" cannot be found.")
	}
	return p, nil
}

// shown returns a profile with its role.
func (s *site) shown(p profile) types.InstanceProfile {
	out := p.InstanceProfile
	if r, ok := s.iam.roles.get(p.role); ok {
		out.Roles = []types.Role{r.Role}
	}
	return out
}

func (s *site) createInstanceProfile(in *iam.CreateInstanceProfileInput) (*iam.CreateInstanceProfileOutput, error) {
	name, path := aws.ToString(in.InstanceProfileName), cmp.Or(aws.ToString(in.Path), "/")
	if _, ok := s.iam.profiles.get(name); ok {
		return nil, refuse(409, "EntityAlreadyExists", "Instance Profile "+name+" already exists.")
	}
	s.serial++
	p := s.iam.profiles.add(name, profile{fresh: s.opt.FreshProfile, InstanceProfile: types.InstanceProfile{
		InstanceProfileName: &name, Path: &path, InstanceProfileId: aws.String("AIPA" + number(s.serial)), CreateDate: aws.Time(s.now()),
		Arn: aws.String("arn:aws:iam::" + Account + ":instance-profile" + path + name), Tags: slices.Clone(in.Tags),
	}})
	out := s.shown(*p)
	return &iam.CreateInstanceProfileOutput{InstanceProfile: &out}, nil
}

func (s *site) getInstanceProfile(in *iam.GetInstanceProfileInput) (*iam.GetInstanceProfileOutput, error) {
	p, err := s.profileNamed(in.InstanceProfileName)
	if err != nil {
		return nil, err
	}
	out := s.shown(*p)
	return &iam.GetInstanceProfileOutput{InstanceProfile: &out}, nil
}

// listInstanceProfiles omits tags, like IAM.
func (s *site) listInstanceProfiles(in *iam.ListInstanceProfilesInput) (*iam.ListInstanceProfilesOutput, error) {
	var all []types.InstanceProfile
	for _, p := range s.iam.profiles.listed() {
		if strings.HasPrefix(*p.Path, aws.ToString(in.PathPrefix)) {
			bare := s.shown(p)
			bare.Tags = nil
			all = append(all, bare)
		}
	}
	some, next, err := page(s, all, in.Marker, in.MaxItems)
	return &iam.ListInstanceProfilesOutput{InstanceProfiles: some, Marker: next, IsTruncated: next != nil}, err
}

func (s *site) addRole(in *iam.AddRoleToInstanceProfileInput) (*iam.AddRoleToInstanceProfileOutput, error) {
	p, err := s.profileNamed(in.InstanceProfileName)
	if err != nil {
		return nil, err
	}
	r, err := s.roleOf(in.RoleName)
	if err != nil {
		return nil, err
	}
	if p.role != "" {
		return nil, refuse(409, "LimitExceeded", "Cannot exceed quota for InstanceSessionsPerInstanceProfile: 1")
	}
	p.role = *r.RoleName
	return &iam.AddRoleToInstanceProfileOutput{}, nil
}

func (s *site) removeRole(in *iam.RemoveRoleFromInstanceProfileInput) (*iam.RemoveRoleFromInstanceProfileOutput, error) {
	p, err := s.profileNamed(in.InstanceProfileName)
	if err != nil {
		return nil, err
	}
	if p.role == "" || p.role != aws.ToString(in.RoleName) {
		return nil, noEntity("role in the instance profile", aws.ToString(in.RoleName))
	}
	p.role = ""
	return &iam.RemoveRoleFromInstanceProfileOutput{}, nil
}

func (s *site) deleteInstanceProfile(in *iam.DeleteInstanceProfileInput) (*iam.DeleteInstanceProfileOutput, error) {
	p, err := s.profileNamed(in.InstanceProfileName)
	if err != nil {
		return nil, err
	}
	if p.role != "" {
		return nil, refuse(409, "DeleteConflict", "Cannot delete entity, must remove roles from instance profile first.")
	}
	s.iam.profiles.remove(*p.InstanceProfileName)
	return &iam.DeleteInstanceProfileOutput{}, nil
}

// profileOf returns the instance profile of a launch by name or ARN. Like EC2, it does not know a
// new profile at first, nor one without a role.
func (s *site) profileOf(in *ec2types.IamInstanceProfileSpecification) (*ec2types.IamInstanceProfile, error) {
	if in == nil {
		return nil, nil
	}
	for _, p := range s.iam.profiles.all() {
		if *p.InstanceProfileName != aws.ToString(in.Name) && *p.Arn != aws.ToString(in.Arn) {
			continue
		}
		if p.fresh > 0 {
			p.fresh--
			break
		}
		if p.role == "" {
			return nil, invalid("IAM Instance Profile \"%s\" has no associated IAM Roles", *p.Arn)
		}
		return &ec2types.IamInstanceProfile{Arn: p.Arn, Id: p.InstanceProfileId}, nil
	}
	if in.Arn != nil {
		return nil, invalid("Value (%s) for parameter iamInstanceProfile.arn is invalid. Invalid IAM Instance Profile ARN", *in.Arn)
	}
	return nil, invalid("Value (%s) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name", aws.ToString(in.Name))
}

// passesRole reports whether a call passes a role to a service.
func passesRole(in any) bool {
	switch in := in.(type) {
	case *ec2.RunInstancesInput:
		return in.IamInstanceProfile != nil
	case *iam.AddRoleToInstanceProfileInput:
		return true
	}
	return false
}
