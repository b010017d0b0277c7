package api

import "github.com/det-deploy/det-deploy/cloud/edge"

func secretsCalls() edge.Calls {
	return edge.Calls{
		edge.Reads("secretsmanager:DescribeSecret"),
		edge.Reads("secretsmanager:ListSecrets"),
		edge.Reads("secretsmanager:GetSecretValue"),
		edge.Writes("secretsmanager:CreateSecret", "secretsmanager:CreateSecret", "secretsmanager:TagResource"),
		edge.Writes("secretsmanager:PutSecretValue"),
		edge.Writes("secretsmanager:DeleteSecret"),
		edge.Writes("secretsmanager:RestoreSecret"),
		edge.Writes("secretsmanager:TagResource"),
	}
}

func logsCalls() edge.Calls {
	return edge.Calls{
		edge.Reads("logs:DescribeLogGroups"),
		edge.Reads("logs:ListTagsForResource"),
		edge.Reads("logs:FilterLogEvents"),
		edge.Writes("logs:CreateLogGroup", "logs:CreateLogGroup", "logs:TagResource"),
		edge.Writes("logs:PutRetentionPolicy"),
		edge.Writes("logs:DeleteRetentionPolicy"),
		edge.Writes("logs:TagResource"),
		edge.Writes("logs:DeleteLogGroup"),
		edge.Writes("logs:CreateLogStream"),
		edge.Writes("logs:PutLogEvents"),
	}
}

func otherCalls() edge.Calls {
	return edge.Calls{
		// Every principal may ask for its own identity.
		{Op: "sts:GetCallerIdentity"},
		edge.Reads("ssm:GetParameter"),
		edge.Reads("servicequotas:GetServiceQuota"),
		edge.Writes("cloudwatch:PutMetricData"),
	}
}
