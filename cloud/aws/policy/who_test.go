package policy

import "slices"

// Unmade returns the calls that only tests make. No policy grants their actions.
func Unmade() []string {
	return []string{"ec2:DeleteTags", "ec2:RevokeSecurityGroupEgress", "iam:AttachRolePolicy", "s3:ListObjectsV2"}
}

// CalledBy returns the callers of a call: the user, unless machines or only tests make it.
func CalledBy(op string) []Who {
	if slices.Contains(Unmade(), op) {
		return nil
	}
	machines := map[string][]Who{
		"ec2:GetConsoleOutput":             {ByMaster},
		"ec2:RunInstances":                 {ByCaller, ByMaster},
		"ec2:TerminateInstances":           {ByCaller, ByMaster},
		"ec2:DescribeInstances":            {ByCaller, ByMaster},
		"ec2:DescribeSpotInstanceRequests": {ByCaller, ByMaster},
		"ec2:CancelSpotInstanceRequests":   {ByCaller, ByMaster},
		"iam:GetInstanceProfile":           {ByCaller, ByMaster},
		"s3:HeadBucket":                    {ByCaller, ByMaster, ByAgent},
		"s3:GetObject":                     {ByCaller, ByMaster, ByAgent},
		"s3:HeadObject":                    {ByCaller, ByMaster, ByAgent},
		"s3:PutObject":                     {ByCaller, ByMaster, ByAgent},
		"secretsmanager:GetSecretValue":    {ByCaller, ByMaster},
		"logs:CreateLogStream":             {ByMaster, ByAgent},
		"logs:PutLogEvents":                {ByMaster, ByAgent},
		"cloudwatch:PutMetricData":         {ByMaster, ByAgent},
		"sts:GetCallerIdentity":            {ByCaller, ByMaster, ByAgent},
	}
	if who, found := machines[op]; found {
		return who
	}
	return []Who{ByCaller}
}

// Extra is a granted action that no call of det-deploy requires, and the reason.
type Extra struct {
	Action, Why string
	To          []Who
}

// Extras returns all of them.
func Extras() []Extra {
	tasks := "tasks keep their checkpoints with a library of their own, as their machine"
	machines := []Who{ByMaster, ByAgent}
	out := []Extra{
		{"s3:GetBucketLocation", tasks, machines},
		{"s3:DeleteObject", tasks, machines},
		{"s3:AbortMultipartUpload", tasks, machines},
		{"s3:ListBucketMultipartUploads", tasks, machines},
		{"s3:ListMultipartUploadParts", tasks, machines},
		{"logs:DescribeLogStreams", "other programs that carry logs to CloudWatch look before they write", machines},
	}
	for _, a := range sessionActions() {
		out = append(out, Extra{a, "Session Manager's agent on the machine, which is the way in without SSH; `roles.session_manager: false` leaves it out", machines})
	}
	return out
}

// Everybody returns all callers.
func Everybody() []Who { return slices.Clone([]Who{ByCaller, ByMaster, ByAgent}) }
