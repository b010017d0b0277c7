package api

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/det-deploy/det-deploy/cloud/edge"
)

// IAM is the part of the IAM API that det-deploy uses.
type IAM interface {
	// Read-only calls.
	GetRole(ctx context.Context, in *iam.GetRoleInput, o ...func(*iam.Options)) (*iam.GetRoleOutput, error)
	ListRoles(ctx context.Context, in *iam.ListRolesInput, o ...func(*iam.Options)) (*iam.ListRolesOutput, error)
	GetRolePolicy(ctx context.Context, in *iam.GetRolePolicyInput, o ...func(*iam.Options)) (*iam.GetRolePolicyOutput, error)
	ListRolePolicies(ctx context.Context, in *iam.ListRolePoliciesInput, o ...func(*iam.Options)) (*iam.ListRolePoliciesOutput, error)
	ListAttachedRolePolicies(ctx context.Context, in *iam.ListAttachedRolePoliciesInput, o ...func(*iam.Options)) (*iam.ListAttachedRolePoliciesOutput, error)
	GetInstanceProfile(ctx context.Context, in *iam.GetInstanceProfileInput, o ...func(*iam.Options)) (*iam.GetInstanceProfileOutput, error)
	ListInstanceProfiles(ctx context.Context, in *iam.ListInstanceProfilesInput, o ...func(*iam.Options)) (*iam.ListInstanceProfilesOutput, error)
	SimulatePrincipalPolicy(ctx context.Context, in *iam.SimulatePrincipalPolicyInput, o ...func(*iam.Options)) (*iam.SimulatePrincipalPolicyOutput, error)

	// Modifying calls, which pass the gate.
	CreateRole(ctx context.Context, in *iam.CreateRoleInput, o ...func(*iam.Options)) (*iam.CreateRoleOutput, error)
	UpdateAssumeRolePolicy(ctx context.Context, in *iam.UpdateAssumeRolePolicyInput, o ...func(*iam.Options)) (*iam.UpdateAssumeRolePolicyOutput, error)
	TagRole(ctx context.Context, in *iam.TagRoleInput, o ...func(*iam.Options)) (*iam.TagRoleOutput, error)
	PutRolePolicy(ctx context.Context, in *iam.PutRolePolicyInput, o ...func(*iam.Options)) (*iam.PutRolePolicyOutput, error)
	DeleteRolePolicy(ctx context.Context, in *iam.DeleteRolePolicyInput, o ...func(*iam.Options)) (*iam.DeleteRolePolicyOutput, error)
	AttachRolePolicy(ctx context.Context, in *iam.AttachRolePolicyInput, o ...func(*iam.Options)) (*iam.AttachRolePolicyOutput, error)
	DetachRolePolicy(ctx context.Context, in *iam.DetachRolePolicyInput, o ...func(*iam.Options)) (*iam.DetachRolePolicyOutput, error)
	DeleteRole(ctx context.Context, in *iam.DeleteRoleInput, o ...func(*iam.Options)) (*iam.DeleteRoleOutput, error)
	CreateInstanceProfile(ctx context.Context, in *iam.CreateInstanceProfileInput, o ...func(*iam.Options)) (*iam.CreateInstanceProfileOutput, error)
	AddRoleToInstanceProfile(ctx context.Context, in *iam.AddRoleToInstanceProfileInput, o ...func(*iam.Options)) (*iam.AddRoleToInstanceProfileOutput, error)
	RemoveRoleFromInstanceProfile(ctx context.Context, in *iam.RemoveRoleFromInstanceProfileInput, o ...func(*iam.Options)) (*iam.RemoveRoleFromInstanceProfileOutput, error)
	DeleteInstanceProfile(ctx context.Context, in *iam.DeleteInstanceProfileInput, o ...func(*iam.Options)) (*iam.DeleteInstanceProfileOutput, error)
	CreateServiceLinkedRole(ctx context.Context, in *iam.CreateServiceLinkedRoleInput, o ...func(*iam.Options)) (*iam.CreateServiceLinkedRoleOutput, error)
}

var _ IAM = (*iam.Client)(nil)

func iamCalls() edge.Calls {
	return edge.Calls{
		edge.Reads("iam:GetRole"),
		edge.Reads("iam:ListRoles"),
		edge.Reads("iam:GetRolePolicy"),
		edge.Reads("iam:ListRolePolicies"),
		edge.Reads("iam:ListAttachedRolePolicies"),
		edge.Reads("iam:GetInstanceProfile"),
		edge.Reads("iam:ListInstanceProfiles"),
		edge.Reads("iam:SimulatePrincipalPolicy"),
		edge.Writes("iam:CreateRole", "iam:CreateRole", "iam:TagRole"),
		edge.Writes("iam:UpdateAssumeRolePolicy"),
		edge.Writes("iam:TagRole"),
		edge.Writes("iam:PutRolePolicy"),
		edge.Writes("iam:DeleteRolePolicy"),
		edge.Writes("iam:AttachRolePolicy"),
		edge.Writes("iam:DetachRolePolicy"),
		edge.Writes("iam:DeleteRole"),
		edge.Writes("iam:CreateInstanceProfile", "iam:CreateInstanceProfile", "iam:TagInstanceProfile"),
		// An instance profile passes its role to instances.
		edge.Writes("iam:AddRoleToInstanceProfile", "iam:AddRoleToInstanceProfile", "iam:PassRole"),
		edge.Writes("iam:RemoveRoleFromInstanceProfile"),
		edge.Writes("iam:DeleteInstanceProfile"),
		edge.Writes("iam:CreateServiceLinkedRole"),
	}
}
