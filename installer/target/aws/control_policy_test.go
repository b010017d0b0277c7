package aws_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/installer/target/aws/control"
	awstest "github.com/det-deploy/det-deploy/test/fake/aws"
)

// theirs is a statement that the bucket's owner has added.
const theirs = `{"Sid":"Theirs","Effect":"Deny","Principal":"*","Action":"s3:DeleteBucket","Resource":"arn:aws:s3:::b"}`

// The next plan adds the statement to a cluster from before it existed. Other statements stay.
func TestControlBucketDeniesPlainHTTP(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(inMemory(awstest.Options{}))
		must(t, s.Up(t.Context()))
		b := s.clients(nil).S3
		name := sdk.String(control.Name("lab", s.account))
		for _, before := range []struct{ name, policy string }{
			{"another's only", `{"Version":"2012-10-17","Statement":` + theirs + `}`},
			{"ours without its condition", `{"Version":"2012-10-17","Statement":[{"Sid":"DetDeployTLSOnly","Effect":"Deny"},` + theirs + `]}`},
		} {
			if got := controlPolicy(t, b, name); !strings.Contains(got, `"aws:SecureTransport":"false"`) {
				t.Errorf("before %s: got %s, want plain HTTP refused", before.name, got)
			}
			_, err := b.PutBucketPolicy(t.Context(), &s3.PutBucketPolicyInput{Bucket: name, Policy: sdk.String(before.policy)})
			must(t, err)
			if p := s.Plan(t); len(p) != 1 || !strings.Contains(p[0], "aws/bucket-policy/control") {
				t.Errorf("%s: got the plan %v", before.name, p)
			}
			must(t, s.Up(t.Context()))
			s.WantNothingToDo(t)
			got := controlPolicy(t, b, name)
			var doc struct{ Statement []struct{ Sid string } }
			must(t, json.Unmarshal([]byte(got), &doc))
			if len(doc.Statement) != 2 || !strings.Contains(got, `"Theirs"`) || !strings.Contains(got, `"aws:SecureTransport":"false"`) {
				t.Errorf("%s: got %s, want theirs and ours", before.name, got)
			}
		}
		_, err := s.Down(t.Context(), true)
		must(t, err)
		s.wantLeft(t)
	})
}

// The control bucket has the user's tags, when it is created and when they change. Tags added by
// others stay.
func TestControlBucketHasUserTags(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(inMemory(awstest.Options{}), "tag", "team=ml")
		must(t, s.Up(t.Context()))
		s.WantNothingToDo(t)
		b, name := s.clients(nil).S3, sdk.String(control.Name("lab", s.account))
		wantTags(t, b, name, "det-deploy-cluster=lab", "team=ml")
		_, err := b.PutBucketTagging(t.Context(), &s3.PutBucketTaggingInput{Bucket: name, Tagging: &types.Tagging{TagSet: []types.Tag{
			{Key: sdk.String("det-deploy-cluster"), Value: sdk.String("lab")}, {Key: sdk.String("theirs"), Value: sdk.String("yes")},
		}}})
		must(t, err)
		want := "update aws/bucket-policy/control; tags.team:  → ml"
		if p := s.Plan(t); len(p) != 1 || p[0] != want {
			t.Errorf("got the plan %v, want %s", p, want)
		}
		must(t, s.Up(t.Context()))
		s.WantNothingToDo(t)
		wantTags(t, b, name, "det-deploy-cluster=lab", "team=ml", "theirs=yes")
	})
}

func wantTags(t *testing.T, b api.S3, bucket *string, want ...string) {
	t.Helper()
	out, err := b.GetBucketTagging(t.Context(), &s3.GetBucketTaggingInput{Bucket: bucket})
	must(t, err)
	var got []string
	for _, tag := range out.TagSet {
		got = append(got, *tag.Key+"="+*tag.Value)
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("got the tags %v of the control bucket, want %v", got, want)
	}
}

type policyReader interface {
	GetBucketPolicy(ctx context.Context, in *s3.GetBucketPolicyInput, o ...func(*s3.Options)) (*s3.GetBucketPolicyOutput, error)
}

func controlPolicy(t *testing.T, b policyReader, name *string) string {
	t.Helper()
	out, err := b.GetBucketPolicy(t.Context(), &s3.GetBucketPolicyInput{Bucket: name})
	if cloud.KindOf(err) == cloud.NotFound {
		return ""
	}
	must(t, err)
	return sdk.ToString(out.Policy)
}
