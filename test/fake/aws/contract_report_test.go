package awstest_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"
	sm "github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	smtypes "github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"

	"github.com/det-deploy/det-deploy/cloud"
)

func vaultFacts() []fact {
	name := aws.String("det-deploy/lab/admin-password")
	create := func(t *testing.T, s stand) (*sm.CreateSecretOutput, error) {
		t.Helper()
		return s.Secrets.CreateSecret(t.Context(), &sm.CreateSecretInput{Name: name, SecretString: aws.String("secret-1"), Tags: []smtypes.Tag{{Key: aws.String("det-deploy-cluster"), Value: aws.String("lab")}}})
	}
	list := func(t *testing.T, s stand) int {
		t.Helper()
		return len(get[*sm.ListSecretsOutput](t)(s.Secrets.ListSecrets(t.Context(), &sm.ListSecretsInput{Filters: []smtypes.Filter{{Key: smtypes.FilterNameStringTypeName, Values: []string{"det-deploy/lab/"}}}})).SecretList)
	}
	return []fact{
		{name: "a secret's name is its own", check: func(t *testing.T, s stand) {
			get[*sm.CreateSecretOutput](t)(create(t, s))
			refused[*sm.CreateSecretOutput](t, cloud.Conflict)(s.Secrets.CreateSecret(t.Context(), &sm.CreateSecretInput{Name: name, SecretString: aws.String("another")}))
			get[*sm.PutSecretValueOutput](t)(s.Secrets.PutSecretValue(t.Context(), &sm.PutSecretValueInput{SecretId: name, SecretString: aws.String("secret-2")}))
			out := get[*sm.GetSecretValueOutput](t)(s.Secrets.GetSecretValue(t.Context(), &sm.GetSecretValueInput{SecretId: name}))
			if *out.SecretString != "secret-2" {
				t.Errorf("got %q, want the second", *out.SecretString)
			}
			d := get[*sm.DescribeSecretOutput](t)(s.Secrets.DescribeSecret(t.Context(), &sm.DescribeSecretInput{SecretId: name}))
			if len(d.Tags) != 1 || list(t, s) != 1 {
				t.Errorf("got tags %+v and %d in the list, want one each", d.Tags, list(t, s))
			}
		}},
		{name: "a deleted secret keeps its name until it is restored", check: func(t *testing.T, s stand) {
			get[*sm.CreateSecretOutput](t)(create(t, s))
			get[*sm.DeleteSecretOutput](t)(s.Secrets.DeleteSecret(t.Context(), &sm.DeleteSecretInput{SecretId: name}))
			refused[*sm.GetSecretValueOutput](t, cloud.Conflict)(s.Secrets.GetSecretValue(t.Context(), &sm.GetSecretValueInput{SecretId: name}))
			refused[*sm.CreateSecretOutput](t, cloud.Conflict)(create(t, s))
			if got := list(t, s); got != 0 {
				t.Errorf("got %d in the list, want none", got)
			}
			get[*sm.RestoreSecretOutput](t)(s.Secrets.RestoreSecret(t.Context(), &sm.RestoreSecretInput{SecretId: name}))
			get[*sm.GetSecretValueOutput](t)(s.Secrets.GetSecretValue(t.Context(), &sm.GetSecretValueInput{SecretId: name}))
		}},
		{name: "a secret deleted by force is gone", check: func(t *testing.T, s stand) {
			get[*sm.CreateSecretOutput](t)(create(t, s))
			get[*sm.DeleteSecretOutput](t)(s.Secrets.DeleteSecret(t.Context(), &sm.DeleteSecretInput{SecretId: name, ForceDeleteWithoutRecovery: aws.Bool(true)}))
			refused[*sm.DescribeSecretOutput](t, cloud.NotFound)(s.Secrets.DescribeSecret(t.Context(), &sm.DescribeSecretInput{SecretId: name}))
			get[*sm.CreateSecretOutput](t)(create(t, s))
		}},
	}
}

func logFacts() []fact {
	group := aws.String("/det-deploy/lab")
	create := func(t *testing.T, s stand) (*cloudwatchlogs.CreateLogGroupOutput, error) {
		t.Helper()
		return s.Logs.CreateLogGroup(t.Context(), &cloudwatchlogs.CreateLogGroupInput{LogGroupName: group, Tags: map[string]string{"det-deploy-cluster": "lab"}})
	}
	find := func(t *testing.T, s stand) types.LogGroup {
		t.Helper()
		out := get[*cloudwatchlogs.DescribeLogGroupsOutput](t)(s.Logs.DescribeLogGroups(t.Context(), &cloudwatchlogs.DescribeLogGroupsInput{LogGroupNamePrefix: group}))
		if len(out.LogGroups) != 1 {
			t.Fatalf("got %d groups, want one", len(out.LogGroups))
		}
		return out.LogGroups[0]
	}
	return []fact{
		{name: "a log group is made once, with tags", check: func(t *testing.T, s stand) {
			get[*cloudwatchlogs.CreateLogGroupOutput](t)(create(t, s))
			refused[*cloudwatchlogs.CreateLogGroupOutput](t, cloud.Conflict)(create(t, s))
			out := get[*cloudwatchlogs.ListTagsForResourceOutput](t)(s.Logs.ListTagsForResource(t.Context(), &cloudwatchlogs.ListTagsForResourceInput{ResourceArn: find(t, s).LogGroupArn}))
			if out.Tags["det-deploy-cluster"] != "lab" {
				t.Errorf("got %v, want the cluster's tag", out.Tags)
			}
		}},
		{name: "log retention is configurable", check: func(t *testing.T, s stand) {
			get[*cloudwatchlogs.CreateLogGroupOutput](t)(create(t, s))
			get[*cloudwatchlogs.PutRetentionPolicyOutput](t)(s.Logs.PutRetentionPolicy(t.Context(), &cloudwatchlogs.PutRetentionPolicyInput{LogGroupName: group, RetentionInDays: aws.Int32(30)}))
			if got := find(t, s).RetentionInDays; aws.ToInt32(got) != 30 {
				t.Errorf("got %v, want 30", got)
			}
			get[*cloudwatchlogs.DeleteRetentionPolicyOutput](t)(s.Logs.DeleteRetentionPolicy(t.Context(), &cloudwatchlogs.DeleteRetentionPolicyInput{LogGroupName: group}))
			if got := find(t, s).RetentionInDays; got != nil {
				t.Errorf("got %d, want for ever", *got)
			}
			get[*cloudwatchlogs.DeleteLogGroupOutput](t)(s.Logs.DeleteLogGroup(t.Context(), &cloudwatchlogs.DeleteLogGroupInput{LogGroupName: group}))
			refused[*cloudwatchlogs.DeleteLogGroupOutput](t, cloud.NotFound)(s.Logs.DeleteLogGroup(t.Context(), &cloudwatchlogs.DeleteLogGroupInput{LogGroupName: group}))
		}},
		{name: "lines go into streams and come back in order", check: func(t *testing.T, s stand) {
			get[*cloudwatchlogs.CreateLogGroupOutput](t)(create(t, s))
			stream, now := aws.String("master"), time.Now().UnixMilli()
			refused[*cloudwatchlogs.PutLogEventsOutput](t, cloud.NotFound)(s.Logs.PutLogEvents(t.Context(), &cloudwatchlogs.PutLogEventsInput{LogGroupName: group, LogStreamName: stream, LogEvents: []types.InputLogEvent{{Message: aws.String("early"), Timestamp: &now}}}))
			in := &cloudwatchlogs.CreateLogStreamInput{LogGroupName: group, LogStreamName: stream}
			get[*cloudwatchlogs.CreateLogStreamOutput](t)(s.Logs.CreateLogStream(t.Context(), in))
			refused[*cloudwatchlogs.CreateLogStreamOutput](t, cloud.Conflict)(s.Logs.CreateLogStream(t.Context(), in))
			get[*cloudwatchlogs.PutLogEventsOutput](t)(s.Logs.PutLogEvents(t.Context(), &cloudwatchlogs.PutLogEventsInput{LogGroupName: group, LogStreamName: stream, LogEvents: []types.InputLogEvent{
				{Message: aws.String("one"), Timestamp: aws.Int64(now)}, {Message: aws.String("two"), Timestamp: aws.Int64(now + 1)},
			}}))
			out := get[*cloudwatchlogs.FilterLogEventsOutput](t)(s.Logs.FilterLogEvents(t.Context(), &cloudwatchlogs.FilterLogEventsInput{LogGroupName: group}))
			if len(out.Events) != 2 || *out.Events[0].Message != "one" {
				t.Errorf("got %d events, want one, two", len(out.Events))
			}
		}},
		{name: "metrics are taken", moto: "does not speak the protocol of the SDK's client", check: func(t *testing.T, s stand) {
			get[*cloudwatch.PutMetricDataOutput](t)(s.Metrics.PutMetricData(t.Context(), &cloudwatch.PutMetricDataInput{Namespace: aws.String("Determined"), MetricData: []cwtypes.MetricDatum{{MetricName: aws.String("gpu"), Value: aws.Float64(0.5)}}}))
		}},
	}
}
