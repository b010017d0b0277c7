package awstest

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"
)

// iamState holds the roles of the account, which have no region.
type iamState struct {
	roles    *table[role]
	profiles *table[profile]
}

type role struct {
	types.Role
	inline   []document
	attached []string // ARNs of managed policies
}

type document struct{ name, text string }

func newIAM(w *World) iamState {
	return iamState{roles: &table[role]{w: w}, profiles: &table[profile]{w: w}}
}

func noEntity(what, name string) error {
	return refuse(404, "NoSuchEntity", "The "+what+" with name "+name+" cannot be found.")
}

func (s *site) roleOf(name *string) (*role, error) {
	r, ok := s.iam.roles.get(aws.ToString(name))
	if !ok {
		return nil, noEntity("role", aws.ToString(name))
	}
	return r, nil
}

func malformed(text string) bool {
	return !json.Valid([]byte(text)) || !strings.Contains(text, `"Statement"`)
}

func (s *site) createRole(in *iam.CreateRoleInput) (*iam.CreateRoleOutput, error) {
	name := aws.ToString(in.RoleName)
	if _, ok := s.iam.roles.get(name); ok {
		return nil, refuse(409, "EntityAlreadyExists", "Role with name "+name+" already exists.")
	}
	if malformed(aws.ToString(in.AssumeRolePolicyDocument)) {
		return nil, refuse(400, "MalformedPolicyDocument", "This policy contains invalid Json")
	}
	if len(name) > 64 {
		return nil, refuse(400, "ValidationError", "1 validation error detected: Value at 'roleName' failed to satisfy constraint: Member must have length less than or equal to 64")
	}
	path := cmp.Or(aws.ToString(in.Path), "/")
	s.serial++
	r := s.iam.roles.add(name, role{Role: types.Role{
		RoleName: &name, Path: &path, RoleId: aws.String("AROA" + number(s.serial)), Arn: aws.String("arn:aws:iam::" + Account + ":role" + path + name),
		AssumeRolePolicyDocument: aws.String(url.QueryEscape(*in.AssumeRolePolicyDocument)), CreateDate: aws.Time(s.now()), Description: in.Description,
		Tags: slices.Clone(in.Tags), MaxSessionDuration: aws.Int32(3600),
	}})
	out := r.Role
	return &iam.CreateRoleOutput{Role: &out}, nil
}

func (s *site) getRole(in *iam.GetRoleInput) (*iam.GetRoleOutput, error) {
	r, err := s.roleOf(in.RoleName)
	if err != nil {
		return nil, err
	}
	out := r.Role
	return &iam.GetRoleOutput{Role: &out}, nil
}

// listRoles omits tags, like IAM.
func (s *site) listRoles(in *iam.ListRolesInput) (*iam.ListRolesOutput, error) {
	var all []types.Role
	for _, r := range s.iam.roles.listed() {
		if strings.HasPrefix(*r.Path, aws.ToString(in.PathPrefix)) {
			bare := r.Role
			bare.Tags = nil
			all = append(all, bare)
		}
	}
	some, next, err := page(s, all, in.Marker, in.MaxItems)
	return &iam.ListRolesOutput{Roles: some, Marker: next, IsTruncated: next != nil}, err
}

func (s *site) tagRole(in *iam.TagRoleInput) (*iam.TagRoleOutput, error) {
	r, err := s.roleOf(in.RoleName)
	if err != nil {
		return nil, err
	}
	for _, t := range in.Tags {
		r.Tags = slices.DeleteFunc(slices.Clone(r.Tags), func(o types.Tag) bool { return *o.Key == *t.Key })
		r.Tags = append(r.Tags, t)
	}
	return &iam.TagRoleOutput{}, nil
}

func (s *site) updateAssumeRolePolicy(in *iam.UpdateAssumeRolePolicyInput) (*iam.UpdateAssumeRolePolicyOutput, error) {
	r, err := s.roleOf(in.RoleName)
	if err != nil {
		return nil, err
	}
	if malformed(aws.ToString(in.PolicyDocument)) {
		return nil, refuse(400, "MalformedPolicyDocument", "This policy contains invalid Json")
	}
	r.AssumeRolePolicyDocument = aws.String(url.QueryEscape(*in.PolicyDocument))
	return &iam.UpdateAssumeRolePolicyOutput{}, nil
}

// deleteRole returns an error while the role has policies or instance profiles.
func (s *site) deleteRole(in *iam.DeleteRoleInput) (*iam.DeleteRoleOutput, error) {
	r, err := s.roleOf(in.RoleName)
	if err != nil {
		return nil, err
	}
	name := *r.RoleName
	switch {
	case len(r.inline) > 0:
		return nil, refuse(409, "DeleteConflict", "Cannot delete entity, must delete policies first.")
	case len(r.attached) > 0:
		return nil, refuse(409, "DeleteConflict", "Cannot delete entity, must detach all policies first.")
	}
	for _, p := range s.iam.profiles.all() {
		if p.role == name {
			return nil, refuse(409, "DeleteConflict", "Cannot delete entity, must remove roles from instance profile first.")
		}
	}
	s.iam.roles.remove(name)
	return &iam.DeleteRoleOutput{}, nil
}

// createServiceLinkedRole creates the service-linked role of a service.
func (s *site) createServiceLinkedRole(in *iam.CreateServiceLinkedRoleInput) (*iam.CreateServiceLinkedRoleOutput, error) {
	service := aws.ToString(in.AWSServiceName)
	if service != "spot.amazonaws.com" {
		return nil, refuse(400, "InvalidInput", "Invalid service: "+service)
	}
	const name = "AWSServiceRoleForEC2Spot"
	if _, ok := s.iam.roles.get(name); ok {
		return nil, refuse(400, "InvalidInput", "Service role name "+name+" has been taken in this account, please try a different suffix.")
	}
	path := "/aws-service-role/" + service + "/"
	// Added with give, because it belongs to the account and is not deleted.
	r := s.iam.roles.give(name, role{Role: types.Role{RoleName: aws.String(name), Path: &path, Arn: aws.String("arn:aws:iam::" + Account + ":role" + path + name)}})
	out := r.Role
	return &iam.CreateServiceLinkedRoleOutput{Role: &out}, nil
}
