package userdata_test

import (
	"bytes"
	"encoding/base64"
	"io"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/det-deploy/det-deploy/test/booter"
	"github.com/det-deploy/det-deploy/test/booter/ec2cloud"
	motest "github.com/det-deploy/det-deploy/test/moto"
)

// amazon is a cluster in an AWS account.
type amazon struct {
	*cluster

	account *motest.Account
	ec2     *ec2.Client
	// bucket is the cluster's control bucket.
	bucket string
}

func newAmazon(t *testing.T) *amazon {
	t.Helper()
	lab := booter.OpenLab(t)
	server := motest.Serve(t, motest.Place{Address: booter.Gateway, Wrap: lab.Wrap(), Client: lab.Client()})
	c := &amazon{account: server.Account(t)}
	c.bucket = "det-deploy-lab-" + c.account.ID
	boot := booter.Start(t, lab, ec2cloud.New(c.account))
	cfg := c.account.Config()
	store := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true })
	c.ec2 = ec2.NewFromConfig(cfg)
	if _, err := store.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &c.bucket, CreateBucketConfiguration: &s3types.CreateBucketConfiguration{
		LocationConstraint: s3types.BucketLocationConstraint(motest.Region),
	}}); err != nil {
		t.Fatal(err)
	}
	c.cluster = newCluster(t, cluster{objects: s3Objects{t, store, c.bucket}, lab: lab, boot: boot, logs: group})
	return c
}

// s3Objects is an S3 bucket.
type s3Objects struct {
	t      *testing.T
	s3     *s3.Client
	bucket string
}

func (c s3Objects) put(key string, data []byte) {
	c.t.Helper()
	if _, err := c.s3.PutObject(c.t.Context(), &s3.PutObjectInput{Bucket: &c.bucket, Key: &key, Body: bytes.NewReader(data)}); err != nil {
		c.t.Fatalf("put %s: %v", key, err)
	}
}

func (c s3Objects) get(key string) []byte {
	out, err := c.s3.GetObject(c.t.Context(), &s3.GetObjectInput{Bucket: &c.bucket, Key: &key})
	if err != nil {
		return nil
	}
	defer func() { _ = out.Body.Close() }() // it was only read
	data, err := io.ReadAll(out.Body)
	if err != nil {
		return nil
	}
	return data
}

// launch launches a machine and returns it.
func (c *amazon) launch(role string, data []byte) types.Instance {
	c.t.Helper()
	var market *types.InstanceMarketOptionsRequest
	if role == "agent" {
		market = &types.InstanceMarketOptionsRequest{MarketType: types.MarketTypeSpot}
	}
	out, err := c.ec2.RunInstances(c.t.Context(), &ec2.RunInstancesInput{
		ImageId: aws.String(motest.ImageAMD64), InstanceType: types.InstanceTypeM5Large, MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
		UserData:              aws.String(base64.StdEncoding.EncodeToString(data)),
		IamInstanceProfile:    &types.IamInstanceProfileSpecification{Name: &role},
		InstanceMarketOptions: market,
		MetadataOptions:       &types.InstanceMetadataOptionsRequest{HttpTokens: types.HttpTokensStateRequired},
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return out.Instances[0]
}
