package aws

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/det-deploy/det-deploy/cloud/aws/infra/storage"
	"github.com/det-deploy/det-deploy/installer/event"
	"github.com/det-deploy/det-deploy/installer/target/aws/control"
	awstest "github.com/det-deploy/det-deploy/test/fake/aws"
)

// A cluster, or the data that it has left, is not looked for in another region.
func TestGivenRegionIsThatOfCluster(t *testing.T) {
	t.Parallel()
	for _, bucket := range []string{control.Name("lab", awstest.Account), storage.DataBucket("lab", awstest.Account)} {
		w := awstest.New(awstest.Options{})
		home := w.ClientsIn(homeRegion, nil)
		if err := checkRegion(t.Context(), home, "eu-west-1", "lab", awstest.Account); err != nil {
			t.Errorf("a new cluster: got %v, want nil", err)
		}
		_, err := w.Clients(nil).S3.CreateBucket(t.Context(), &s3.CreateBucketInput{
			Bucket: aws.String(bucket), CreateBucketConfiguration: &types.CreateBucketConfiguration{LocationConstraint: "us-west-2"},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := checkRegion(t.Context(), home, "us-west-2", "lab", awstest.Account); err != nil {
			t.Errorf("%s, its region: got %v, want nil", bucket, err)
		}
		err = checkRegion(t.Context(), home, "eu-west-1", "lab", awstest.Account)
		if err == nil || !strings.Contains(err.Error(), "is in us-west-2 and not in eu-west-1") || !strings.Contains(event.Hint(err), "--region us-west-2") {
			t.Errorf("%s, another region: got %v with the hint %q", bucket, err, event.Hint(err))
		}
	}
}
