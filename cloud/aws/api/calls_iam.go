package api

func iamCalls() []Call {
	return []Call{
		looks("iam:GetRole"),
		looks("iam:ListRoles"),
		looks("iam:GetRolePolicy"),
		looks("iam:ListRolePolicies"),
		looks("iam:ListAttachedRolePolicies"),
		looks("iam:GetInstanceProfile"),
		looks("iam:ListInstanceProfiles"),
		looks("iam:SimulatePrincipalPolicy"),
		alters("iam:CreateRole", "iam:CreateRole", "iam:TagRole"),
		alters("iam:UpdateAssumeRolePolicy"),
		alters("iam:TagRole"),
		alters("iam:PutRolePolicy"),
		alters("iam:DeleteRolePolicy"),
		alters("iam:AttachRolePolicy"),
		alters("iam:DetachRolePolicy"),
		alters("iam:DeleteRole"),
		alters("iam:CreateInstanceProfile", "iam:CreateInstanceProfile", "iam:TagInstanceProfile"),
		// A profile hands its role on to machines.
		alters("iam:AddRoleToInstanceProfile", "iam:AddRoleToInstanceProfile", "iam:PassRole"),
		alters("iam:RemoveRoleFromInstanceProfile"),
		alters("iam:DeleteInstanceProfile"),
		alters("iam:CreateServiceLinkedRole"),
	}
}
