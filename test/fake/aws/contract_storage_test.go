package awstest_test

import (
	"io"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/det-deploy/det-deploy/cloud"
)

const (
	trust   = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}`
	nothing = `{"Version":"2012-10-17","Statement":[{"Effect":"Deny","Action":"*","Resource":"*"}]}`
)

func (s stand) role(t *testing.T, name string) {
	t.Helper()
	get[*iam.CreateRoleOutput](t)(s.IAM.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: &name, Path: aws.String("/det-deploy/lab/"), AssumeRolePolicyDocument: aws.String(trust)}))
}

func roleFacts() []fact {
	return []fact{
		{name: "role names are unique, and roles are listed by path", check: func(t *testing.T, s stand) {
			s.role(t, "master")
			refused[*iam.CreateRoleOutput](t, cloud.Conflict)(s.IAM.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: aws.String("master"), AssumeRolePolicyDocument: aws.String(trust)}))
			out := get[*iam.ListRolesOutput](t)(s.IAM.ListRoles(t.Context(), &iam.ListRolesInput{PathPrefix: aws.String("/det-deploy/lab/")}))
			none := get[*iam.ListRolesOutput](t)(s.IAM.ListRoles(t.Context(), &iam.ListRolesInput{PathPrefix: aws.String("/det-deploy/other/")}))
			if len(out.Roles) != 1 || len(none.Roles) != 0 {
				t.Errorf("got %d and %d roles, want 1 of lab and 0 of another", len(out.Roles), len(none.Roles))
			}
		}},
		{name: "a role goes after what hangs on it", check: func(t *testing.T, s stand) {
			s.role(t, "master")
			name := aws.String("master")
			drop := func(want cloud.Kind) {
				t.Helper()
				refused[*iam.DeleteRoleOutput](t, want)(s.IAM.DeleteRole(t.Context(), &iam.DeleteRoleInput{RoleName: name}))
			}
			get[*iam.PutRolePolicyOutput](t)(s.IAM.PutRolePolicy(t.Context(), &iam.PutRolePolicyInput{RoleName: name, PolicyName: name, PolicyDocument: aws.String(nothing)}))
			get[*iam.CreateInstanceProfileOutput](t)(s.IAM.CreateInstanceProfile(t.Context(), &iam.CreateInstanceProfileInput{InstanceProfileName: name, Path: aws.String("/det-deploy/lab/")}))
			get[*iam.AddRoleToInstanceProfileOutput](t)(s.IAM.AddRoleToInstanceProfile(t.Context(), &iam.AddRoleToInstanceProfileInput{InstanceProfileName: name, RoleName: name}))
			drop(cloud.Conflict)
			get[*iam.DeleteRolePolicyOutput](t)(s.IAM.DeleteRolePolicy(t.Context(), &iam.DeleteRolePolicyInput{RoleName: name, PolicyName: name}))
			drop(cloud.Conflict)
			refused[*iam.DeleteInstanceProfileOutput](t, cloud.Conflict)(s.IAM.DeleteInstanceProfile(t.Context(), &iam.DeleteInstanceProfileInput{InstanceProfileName: name}))
			get[*iam.RemoveRoleFromInstanceProfileOutput](t)(s.IAM.RemoveRoleFromInstanceProfile(t.Context(), &iam.RemoveRoleFromInstanceProfileInput{InstanceProfileName: name, RoleName: name}))
			get[*iam.DeleteInstanceProfileOutput](t)(s.IAM.DeleteInstanceProfile(t.Context(), &iam.DeleteInstanceProfileInput{InstanceProfileName: name}))
			drop("")
			drop(cloud.NotFound)
		}},
		{name: "a document comes back as it was, in the form of a URL", check: func(t *testing.T, s stand) {
			s.role(t, "master")
			name := aws.String("master")
			refused[*iam.PutRolePolicyOutput](t, cloud.Invalid)(s.IAM.PutRolePolicy(t.Context(), &iam.PutRolePolicyInput{RoleName: name, PolicyName: name, PolicyDocument: aws.String("nonsense")}))
			get[*iam.PutRolePolicyOutput](t)(s.IAM.PutRolePolicy(t.Context(), &iam.PutRolePolicyInput{RoleName: name, PolicyName: name, PolicyDocument: aws.String(nothing)}))
			out := get[*iam.GetRolePolicyOutput](t)(s.IAM.GetRolePolicy(t.Context(), &iam.GetRolePolicyInput{RoleName: name, PolicyName: name}))
			if got := get[string](t)(url.QueryUnescape(*out.PolicyDocument)); got != nothing {
				t.Errorf("got %s, want %s", got, nothing)
			}
			refused[*iam.GetRolePolicyOutput](t, cloud.NotFound)(s.IAM.GetRolePolicy(t.Context(), &iam.GetRolePolicyInput{RoleName: name, PolicyName: aws.String("other")}))
		}},
		{name: "a profile holds one role", check: func(t *testing.T, s stand) {
			s.role(t, "one")
			s.role(t, "two")
			get[*iam.CreateInstanceProfileOutput](t)(s.IAM.CreateInstanceProfile(t.Context(), &iam.CreateInstanceProfileInput{InstanceProfileName: aws.String("p")}))
			get[*iam.AddRoleToInstanceProfileOutput](t)(s.IAM.AddRoleToInstanceProfile(t.Context(), &iam.AddRoleToInstanceProfileInput{InstanceProfileName: aws.String("p"), RoleName: aws.String("one")}))
			refused[*iam.AddRoleToInstanceProfileOutput](t, cloud.Quota)(s.IAM.AddRoleToInstanceProfile(t.Context(), &iam.AddRoleToInstanceProfileInput{InstanceProfileName: aws.String("p"), RoleName: aws.String("two")}))
			out := get[*iam.GetInstanceProfileOutput](t)(s.IAM.GetInstanceProfile(t.Context(), &iam.GetInstanceProfileInput{InstanceProfileName: aws.String("p")}))
			if len(out.InstanceProfile.Roles) != 1 || *out.InstanceProfile.Roles[0].RoleName != "one" {
				t.Errorf("got %+v, want the first role", out.InstanceProfile.Roles)
			}
		}},
		{name: "the role of the spot service is made once", check: func(t *testing.T, s stand) {
			in := &iam.CreateServiceLinkedRoleInput{AWSServiceName: aws.String("spot.amazonaws.com")}
			get[*iam.CreateServiceLinkedRoleOutput](t)(s.IAM.CreateServiceLinkedRole(t.Context(), in))
			refused[*iam.CreateServiceLinkedRoleOutput](t, cloud.Conflict)(s.IAM.CreateServiceLinkedRole(t.Context(), in))
		}},
		{name: "everybody learns who they are", check: func(t *testing.T, s stand) {
			out := get[*sts.GetCallerIdentityOutput](t)(s.STS.GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{}))
			if len(*out.Account) != 12 {
				t.Errorf("got account %q, want twelve digits", *out.Account)
			}
		}},
		{name: "a parameter names the newest image", check: func(t *testing.T, s stand) {
			get[*ssm.GetParameterOutput](t)(s.SSM.GetParameter(t.Context(), &ssm.GetParameterInput{Name: aws.String("/aws/service/debian/release/12/latest/amd64")}))
			refused[*ssm.GetParameterOutput](t, cloud.NotFound)(s.SSM.GetParameter(t.Context(), &ssm.GetParameterInput{Name: aws.String("/aws/service/nobody")}))
		}},
	}
}

// bucket creates a bucket with a unique name.
func (s stand) bucket(t *testing.T) *string {
	t.Helper()
	id := get[*sts.GetCallerIdentityOutput](t)(s.STS.GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{}))
	name := aws.String("det-deploy-lab-" + *id.Account)
	get[*s3.CreateBucketOutput](t)(s.S3.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: name, CreateBucketConfiguration: &s3types.CreateBucketConfiguration{LocationConstraint: "us-west-2"}}))
	return name
}

func (s stand) put(t *testing.T, bucket *string, key, text string, f func(*s3.PutObjectInput)) (*s3.PutObjectOutput, error) {
	t.Helper()
	in := &s3.PutObjectInput{Bucket: bucket, Key: &key, Body: strings.NewReader(text)}
	if f != nil {
		f(in)
	}
	return s.S3.PutObject(t.Context(), in)
}

func bucketFacts() []fact {
	return []fact{
		{name: "a bucket is made once, and looked for before", check: func(t *testing.T, s stand) {
			b := s.bucket(t)
			refused[*s3.CreateBucketOutput](t, cloud.Conflict)(s.S3.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: b, CreateBucketConfiguration: &s3types.CreateBucketConfiguration{LocationConstraint: "us-west-2"}}))
			get[*s3.HeadBucketOutput](t)(s.S3.HeadBucket(t.Context(), &s3.HeadBucketInput{Bucket: b}))
			refused[*s3.HeadBucketOutput](t, cloud.NotFound)(s.S3.HeadBucket(t.Context(), &s3.HeadBucketInput{Bucket: aws.String("nobody-has-" + *b)}))
			if got := get[*s3.GetBucketLocationOutput](t)(s.S3.GetBucketLocation(t.Context(), &s3.GetBucketLocationInput{Bucket: b})); got.LocationConstraint != "us-west-2" {
				t.Errorf("got %q, want us-west-2", got.LocationConstraint)
			}
		}},
		{name: "a bucket's tags are replaced as a whole", check: func(t *testing.T, s stand) {
			b := s.bucket(t)
			refused[*s3.GetBucketTaggingOutput](t, cloud.NotFound)(s.S3.GetBucketTagging(t.Context(), &s3.GetBucketTaggingInput{Bucket: b}))
			for _, k := range []string{"one", "two"} {
				get[*s3.PutBucketTaggingOutput](t)(s.S3.PutBucketTagging(t.Context(), &s3.PutBucketTaggingInput{Bucket: b, Tagging: &s3types.Tagging{TagSet: []s3types.Tag{{Key: &k, Value: aws.String("x")}}}}))
			}
			got := get[*s3.GetBucketTaggingOutput](t)(s.S3.GetBucketTagging(t.Context(), &s3.GetBucketTaggingInput{Bucket: b})).TagSet
			if len(got) != 1 || *got[0].Key != "two" {
				t.Errorf("got %+v, want the second only", got)
			}
		}},
		{name: "a bucket is tagged by the call that makes it", moto: "leaves these tags out", check: func(t *testing.T, s stand) {
			name := aws.String("det-deploy-tagged")
			get[*s3.CreateBucketOutput](t)(s.S3.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: name, CreateBucketConfiguration: &s3types.CreateBucketConfiguration{
				LocationConstraint: "us-west-2", Tags: []s3types.Tag{{Key: aws.String("a"), Value: aws.String("b")}},
			}}))
			if got := get[*s3.GetBucketTaggingOutput](t)(s.S3.GetBucketTagging(t.Context(), &s3.GetBucketTaggingInput{Bucket: name})).TagSet; len(got) != 1 {
				t.Errorf("got %+v, want the tag", got)
			}
		}},
		{name: "conditional writes of objects", check: func(t *testing.T, s stand) {
			b := s.bucket(t)
			fresh := func(in *s3.PutObjectInput) { in.IfNoneMatch = aws.String("*") }
			first := get[*s3.PutObjectOutput](t)(s.put(t, b, "lease.json", "1", fresh))
			refused[*s3.PutObjectOutput](t, cloud.Conflict)(s.put(t, b, "lease.json", "2", fresh))
			second := get[*s3.PutObjectOutput](t)(s.put(t, b, "lease.json", "2", func(in *s3.PutObjectInput) { in.IfMatch = first.ETag }))
			refused[*s3.PutObjectOutput](t, cloud.Conflict)(s.put(t, b, "lease.json", "3", func(in *s3.PutObjectInput) { in.IfMatch = first.ETag }))
			out := get[*s3.GetObjectOutput](t)(s.S3.GetObject(t.Context(), &s3.GetObjectInput{Bucket: b, Key: aws.String("lease.json")}))
			if body := string(get[[]byte](t)(io.ReadAll(out.Body))); body != "2" || *out.ETag != *second.ETag {
				t.Errorf("got %q, want the second", body)
			}
			must(t, out.Body.Close())
			refused[*s3.GetObjectOutput](t, cloud.NotFound)(s.S3.GetObject(t.Context(), &s3.GetObjectInput{Bucket: b, Key: aws.String("nothing")}))
			refused[*s3.HeadObjectOutput](t, cloud.NotFound)(s.S3.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: b, Key: aws.String("nothing")}))
		}},
		{name: "only an empty bucket goes, and versions and markers count", check: func(t *testing.T, s stand) {
			b := s.bucket(t)
			drop := func(want cloud.Kind) {
				t.Helper()
				refused[*s3.DeleteBucketOutput](t, want)(s.S3.DeleteBucket(t.Context(), &s3.DeleteBucketInput{Bucket: b}))
			}
			get[*s3.PutBucketVersioningOutput](t)(s.S3.PutBucketVersioning(t.Context(), &s3.PutBucketVersioningInput{Bucket: b, VersioningConfiguration: &s3types.VersioningConfiguration{Status: s3types.BucketVersioningStatusEnabled}}))
			for _, text := range []string{"1", "2"} {
				get[*s3.PutObjectOutput](t)(s.put(t, b, "checkpoint", text, nil))
			}
			get[*s3.DeleteObjectOutput](t)(s.S3.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: b, Key: aws.String("checkpoint")}))
			if got := get[*s3.ListObjectsV2Output](t)(s.S3.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: b})); len(got.Contents) != 0 {
				t.Errorf("got %d objects under a marker, want none", len(got.Contents))
			}
			drop(cloud.Conflict)
			all := get[*s3.ListObjectVersionsOutput](t)(s.S3.ListObjectVersions(t.Context(), &s3.ListObjectVersionsInput{Bucket: b}))
			if len(all.Versions) != 2 || len(all.DeleteMarkers) != 1 {
				t.Fatalf("got %d versions and %d markers, want 2 and 1", len(all.Versions), len(all.DeleteMarkers))
			}
			var ids []s3types.ObjectIdentifier
			for _, v := range all.Versions {
				ids = append(ids, s3types.ObjectIdentifier{Key: v.Key, VersionId: v.VersionId})
			}
			for _, m := range all.DeleteMarkers {
				ids = append(ids, s3types.ObjectIdentifier{Key: m.Key, VersionId: m.VersionId})
			}
			get[*s3.DeleteObjectsOutput](t)(s.S3.DeleteObjects(t.Context(), &s3.DeleteObjectsInput{Bucket: b, Delete: &s3types.Delete{Objects: ids}}))
			drop("")
			drop(cloud.NotFound)
		}},
		{name: "a listing stops at directories", check: func(t *testing.T, s stand) {
			b := s.bucket(t)
			for _, k := range []string{"bin/a", "bin/b", "manifest.json"} {
				get[*s3.PutObjectOutput](t)(s.put(t, b, k, k, nil))
			}
			out := get[*s3.ListObjectsV2Output](t)(s.S3.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: b, Delimiter: aws.String("/")}))
			if len(out.Contents) != 1 || len(out.CommonPrefixes) != 1 || *out.CommonPrefixes[0].Prefix != "bin/" {
				t.Errorf("got %d objects and %d directories, want 1 and bin/", len(out.Contents), len(out.CommonPrefixes))
			}
		}},
		{name: "public access block is configurable", check: func(t *testing.T, s stand) {
			b, yes := s.bucket(t), aws.Bool(true)
			get[*s3.PutPublicAccessBlockOutput](t)(s.S3.PutPublicAccessBlock(t.Context(), &s3.PutPublicAccessBlockInput{Bucket: b, PublicAccessBlockConfiguration: &s3types.PublicAccessBlockConfiguration{BlockPublicAcls: yes, BlockPublicPolicy: yes, IgnorePublicAcls: yes, RestrictPublicBuckets: yes}}))
			out := get[*s3.GetPublicAccessBlockOutput](t)(s.S3.GetPublicAccessBlock(t.Context(), &s3.GetPublicAccessBlockInput{Bucket: b}))
			if !aws.ToBool(out.PublicAccessBlockConfiguration.BlockPublicPolicy) {
				t.Error("got an open bucket, want a closed one")
			}
		}},
	}
}
