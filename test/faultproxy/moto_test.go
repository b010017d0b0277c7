package faultproxy_test

import (
	"bytes"
	"regexp"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/det-deploy/det-deploy/test/faultproxy"
	motest "github.com/det-deploy/det-deploy/test/moto"
)

// A launch whose response was lost is repeated with its token and launches once; signatures remain
// valid through the proxy.
func TestLostResponseLaunchesOnce(t *testing.T) {
	t.Parallel()
	a := motest.Open(t)
	p := faultproxy.Start(t, a.Endpoint, 0)
	config := a.As(a.Assume(t, a.Role(t, "launcher", `{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": ["ec2:RunInstances", "s3:*"], "Resource": "*"}]}`), "i-1"))
	a.Enforce(t, true)
	config.BaseEndpoint = aws.String(p.URL)
	p.Add(faultproxy.Rule{Action: regexp.MustCompile("^RunInstances$"), Count: 1, Effect: faultproxy.Lose()})
	_, err := ec2.NewFromConfig(config).RunInstances(t.Context(), &ec2.RunInstancesInput{
		ImageId: aws.String(motest.ImageAMD64), InstanceType: types.InstanceTypeT3Micro, MinCount: aws.Int32(1), MaxCount: aws.Int32(2),
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := len(a.Machines(t)); got != 2 {
		t.Errorf("got %d machines, want 2", got)
	}
	files := s3.NewFromConfig(config)
	bucket := aws.String("b-" + a.ID)
	if _, err := files.CreateBucket(t.Context(), &s3.CreateBucketInput{
		Bucket: bucket, CreateBucketConfiguration: nil,
	}, func(o *s3.Options) { o.Region = "us-east-1" }); err != nil {
		t.Fatal(err)
	}
	if _, err := files.PutObject(t.Context(), &s3.PutObjectInput{Bucket: bucket, Key: aws.String("k"), Body: bytes.NewReader(make([]byte, 1<<16))}); err != nil {
		t.Fatal(err)
	}
	if head, err := files.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: bucket, Key: aws.String("k")}); err != nil || aws.ToInt64(head.ContentLength) != 1<<16 {
		t.Errorf("got %+v, %v", head, err)
	}
	_, err = ec2.NewFromConfig(config).DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{})
	if err == nil {
		t.Error("a denied action was allowed")
	}
	calls := p.Calls()
	if last := calls[len(calls)-1]; last.Code != "UnauthorizedOperation" || last.Action != "DescribeVpcs" {
		t.Errorf("got %+v", last)
	}
	if got := p.Actions()["ec2:RunInstances"]; got != 2 {
		t.Errorf("got %d launches, want 2", got)
	}
}
