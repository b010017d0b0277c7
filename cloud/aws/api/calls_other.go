package api

func secretsCalls() []Call {
	return []Call{
		looks("secretsmanager:DescribeSecret"),
		looks("secretsmanager:ListSecrets"),
		looks("secretsmanager:GetSecretValue"),
		alters("secretsmanager:CreateSecret", "secretsmanager:CreateSecret", "secretsmanager:TagResource"),
		alters("secretsmanager:PutSecretValue"),
		alters("secretsmanager:DeleteSecret"),
		alters("secretsmanager:RestoreSecret"),
		alters("secretsmanager:TagResource"),
	}
}

func logsCalls() []Call {
	return []Call{
		looks("logs:DescribeLogGroups"),
		looks("logs:ListTagsForResource"),
		looks("logs:FilterLogEvents"),
		alters("logs:CreateLogGroup", "logs:CreateLogGroup", "logs:TagResource"),
		alters("logs:PutRetentionPolicy"),
		alters("logs:DeleteRetentionPolicy"),
		alters("logs:TagResource"),
		alters("logs:DeleteLogGroup"),
		alters("logs:CreateLogStream"),
		alters("logs:PutLogEvents"),
	}
}

func otherCalls() []Call {
	return []Call{
		// Everybody may ask who they are.
		{Op: "sts:GetCallerIdentity"},
		looks("ssm:GetParameter"),
		looks("servicequotas:GetServiceQuota"),
		alters("cloudwatch:PutMetricData"),
	}
}
