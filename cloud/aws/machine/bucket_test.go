package machine_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/aws/machine"
	followtest "github.com/det-deploy/det-deploy/test/contract/follow"
	motest "github.com/det-deploy/det-deploy/test/moto"
)

func TestTheControlBucket(t *testing.T) {
	t.Parallel()
	clients := api.New(motest.Open(t).Config(), api.Options{})
	if _, err := clients.S3.CreateBucket(t.Context(), &s3.CreateBucketInput{
		Bucket: aws.String("control"), CreateBucketConfiguration: &types.CreateBucketConfiguration{LocationConstraint: motest.Region},
	}); err != nil {
		t.Fatal(err)
	}
	followtest.Bucket(t, machine.Bucket{Name: "control", S3: clients.S3})
}
