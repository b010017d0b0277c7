package awstest

import (
	"net/url"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"
)

func (s *site) putRolePolicy(in *iam.PutRolePolicyInput) (*iam.PutRolePolicyOutput, error) {
	r, err := s.roleOf(in.RoleName)
	if err != nil {
		return nil, err
	}
	name, text := aws.ToString(in.PolicyName), aws.ToString(in.PolicyDocument)
	if malformed(text) {
		return nil, refuse(400, "MalformedPolicyDocument", "This policy contains invalid Json")
	}
	inline := slices.DeleteFunc(slices.Clone(r.inline), func(d document) bool { return d.name == name })
	inline = append(inline, document{name, text})
	// All inline policies of a role together are limited to 10,240 characters.
	size := 0
	for _, d := range inline {
		size += len(d.text)
	}
	if size > 10240 {
		return nil, refuse(409, "LimitExceeded", "Maximum policy size of 10240 bytes exceeded for role "+*r.RoleName)
	}
	r.inline = inline
	return &iam.PutRolePolicyOutput{}, nil
}

func (s *site) getRolePolicy(in *iam.GetRolePolicyInput) (*iam.GetRolePolicyOutput, error) {
	r, err := s.roleOf(in.RoleName)
	if err != nil {
		return nil, err
	}
	for _, d := range r.inline {
		if d.name == aws.ToString(in.PolicyName) {
			return &iam.GetRolePolicyOutput{RoleName: r.RoleName, PolicyName: in.PolicyName, PolicyDocument: aws.String(url.QueryEscape(d.text))}, nil
		}
	}
	return nil, noEntity("role policy", aws.ToString(in.PolicyName))
}

func (s *site) listRolePolicies(in *iam.ListRolePoliciesInput) (*iam.ListRolePoliciesOutput, error) {
	r, err := s.roleOf(in.RoleName)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, d := range r.inline {
		names = append(names, d.name)
	}
	some, next, err := page(s, names, in.Marker, in.MaxItems)
	return &iam.ListRolePoliciesOutput{PolicyNames: some, Marker: next, IsTruncated: next != nil}, err
}

func (s *site) deleteRolePolicy(in *iam.DeleteRolePolicyInput) (*iam.DeleteRolePolicyOutput, error) {
	r, err := s.roleOf(in.RoleName)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(r.inline, func(d document) bool { return d.name == aws.ToString(in.PolicyName) })
	if i < 0 {
		return nil, noEntity("role policy", aws.ToString(in.PolicyName))
	}
	r.inline = slices.Delete(slices.Clone(r.inline), i, i+1)
	return &iam.DeleteRolePolicyOutput{}, nil
}

func (s *site) listAttachedRolePolicies(in *iam.ListAttachedRolePoliciesInput) (*iam.ListAttachedRolePoliciesOutput, error) {
	r, err := s.roleOf(in.RoleName)
	if err != nil {
		return nil, err
	}
	var all []types.AttachedPolicy
	for _, arn := range r.attached {
		all = append(all, types.AttachedPolicy{PolicyArn: aws.String(arn), PolicyName: aws.String(arn[strings.LastIndex(arn, "/")+1:])})
	}
	some, next, err := page(s, all, in.Marker, in.MaxItems)
	return &iam.ListAttachedRolePoliciesOutput{AttachedPolicies: some, Marker: next, IsTruncated: next != nil}, err
}

func (s *site) attachRolePolicy(in *iam.AttachRolePolicyInput) (*iam.AttachRolePolicyOutput, error) {
	r, err := s.roleOf(in.RoleName)
	if err != nil {
		return nil, err
	}
	arn := aws.ToString(in.PolicyArn)
	if !strings.HasPrefix(arn, "arn:aws:iam::") {
		return nil, refuse(404, "NoSuchEntity", "Policy "+arn+" does not exist or is not attachable.")
	}
	if !slices.Contains(r.attached, arn) {
		r.attached = append(slices.Clone(r.attached), arn)
	}
	return &iam.AttachRolePolicyOutput{}, nil
}

func (s *site) detachRolePolicy(in *iam.DetachRolePolicyInput) (*iam.DetachRolePolicyOutput, error) {
	r, err := s.roleOf(in.RoleName)
	if err != nil {
		return nil, err
	}
	i := slices.Index(r.attached, aws.ToString(in.PolicyArn))
	if i < 0 {
		return nil, refuse(404, "NoSuchEntity", "Policy "+aws.ToString(in.PolicyArn)+" was not found.")
	}
	r.attached = slices.Delete(slices.Clone(r.attached), i, i+1)
	return &iam.DetachRolePolicyOutput{}, nil
}
