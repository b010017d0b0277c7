package api

import "github.com/det-deploy/det-deploy/cloud/edge"

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
		// A profile hands its role on to machines.
		edge.Writes("iam:AddRoleToInstanceProfile", "iam:AddRoleToInstanceProfile", "iam:PassRole"),
		edge.Writes("iam:RemoveRoleFromInstanceProfile"),
		edge.Writes("iam:DeleteInstanceProfile"),
		edge.Writes("iam:CreateServiceLinkedRole"),
	}
}
