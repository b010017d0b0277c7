package machine_test

import (
	"bytes"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/aws/machine"
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
	b := machine.Bucket{Name: "control", S3: clients.S3}
	if _, _, err := b.Changed(t.Context(), "manifest.json", ""); cloud.KindOf(err) != cloud.NotFound {
		t.Errorf("got %v, want that there is none", err)
	}
	mark := ""
	for _, text := range []string{"one", "two"} {
		if err := b.Put(t.Context(), "manifest.json", []byte(text)); err != nil {
			t.Fatal(err)
		}
		data, now, err := b.Changed(t.Context(), "manifest.json", mark)
		if err != nil || string(data) != text || now == "" {
			t.Fatalf("got %q, %q, %v; want %s", data, now, err, text)
		}
		mark = now
		if data, now, err := b.Changed(t.Context(), "manifest.json", mark); data != nil || now != mark || err != nil {
			t.Errorf("asked again: got %q, %q, %v; want nothing", data, now, err)
		}
	}
	var out bytes.Buffer
	if err := b.Fetch(t.Context(), "manifest.json", &out); err != nil || out.String() != "two" {
		t.Errorf("got %q, %v; want two", out.String(), err)
	}
	if err := b.Fetch(t.Context(), "nowhere", &out); cloud.KindOf(err) != cloud.NotFound {
		t.Errorf("got %v, want that there is none", err)
	}
}
