package aws_test

import (
	"slices"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	sm "github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	smtypes "github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/storage"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/hosted"
	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/installer/spec"
	"github.com/det-deploy/det-deploy/installer/target/aws"
	"github.com/det-deploy/det-deploy/installer/target/aws/layout"
	awstest "github.com/det-deploy/det-deploy/test/fake/aws"
)

// bring creates a volume and a bucket of the user and returns their flags.
func bring(t *testing.T, c *cloudy) (volume string, flags []string) {
	t.Helper()
	clients := c.clients(nil)
	v, err := clients.EC2.CreateVolume(t.Context(), &ec2.CreateVolumeInput{AvailabilityZone: sdk.String("us-west-2a"), Size: sdk.Int32(100), Encrypted: sdk.Bool(true)})
	must(t, err)
	_, err = clients.S3.CreateBucket(t.Context(), &s3.CreateBucketInput{
		Bucket:                    sdk.String("their-checkpoints"),
		CreateBucketConfiguration: &types.CreateBucketConfiguration{LocationConstraint: "us-west-2"},
	})
	must(t, err)
	return *v.VolumeId, []string{"data-volume", *v.VolumeId, "data-bucket", "their-checkpoints"}
}

// The password is kept with the database that it opens.
func TestDownKeepsPasswordOfUserData(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := inMemory(awstest.Options{})
		volume, flags := bring(t, c)
		before := c.world.Live()
		s := newStage(c, flags...)
		must(t, s.Up(t.Context()))
		password := s.password(t)
		receipt, err := s.Down(t.Context(), false)
		must(t, err)
		wantKept(t, receipt.Kept, "admin-password", volume)
		if got := s.password(t); got != password {
			t.Errorf("got password %q after down, want the one that opens the database", got)
		}
		// A second `down` has no record. The tags of the kept secret must name its purpose.
		p, err := s.forgotten(t).PlanDown(t.Context(), false)
		must(t, err)
		if !p.Empty() {
			t.Errorf("got %+v, want nothing to remove", p.Steps)
		}
		wantKept(t, installer.KeptReceipt(p).Kept, "admin-password", volume)
		must(t, s.Up(t.Context()))
		if got := s.password(t); got != password {
			t.Errorf("got password %q after another up, want the first one", got)
		}
		_, err = s.Down(t.Context(), true)
		must(t, err)
		s.wantLeft(t, before...)
	})
}

// A password stored by an earlier version does not record what it opens. If the settings cannot be
// read either, it is kept unless all data is to be deleted.
func TestDownKeepsPasswordThatMayOpenUserData(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := inMemory(awstest.Options{})
		_, flags := bring(t, c)
		before := c.world.Live()
		s := newStage(c, flags...)
		must(t, s.Up(t.Context()))
		password := s.password(t)
		_, err := s.clients(nil).Secrets.TagResource(t.Context(), &sm.TagResourceInput{
			SecretId: sdk.String(storage.SecretName("lab", "admin-password")), Tags: []smtypes.Tag{{Key: sdk.String(mark.OpensTag), Value: sdk.String("")}},
		})
		must(t, err)
		in := s.unread(t)
		p, err := in.PlanDown(t.Context(), false)
		must(t, err)
		receipt, err := in.Down(t.Context(), p, false)
		must(t, err)
		wantKept(t, receipt.Kept, "admin-password", "may be required by existing data")
		if got := s.password(t); got != password {
			t.Errorf("got password %q after down, want the one that opens the database", got)
		}
		in = s.unread(t)
		p, err = in.PlanDown(t.Context(), true)
		must(t, err)
		_, err = in.Down(t.Context(), p, true)
		must(t, err)
		s.wantLeft(t, before...)
	})
}

// unread returns a new process that cannot read the cluster's settings.
func (s *stage) unread(t *testing.T) *installer.Installer {
	t.Helper()
	gate := new(resource.Gate)
	free := s.clients(nil)
	target, err := aws.Open(t.Context(), aws.Config{
		Layout: layout.Layout{Spec: spec.AWS{Common: spec.Common{Cluster: "lab"}, Region: "us-west-2"}}, Unread: true, Clients: s.clients(gate), Free: free, Options: hosted.Options{Pause: s.Pause},
	})
	must(t, err)
	return &installer.Installer{
		Cluster: "lab", Platform: "aws", Deployment: target, Store: target.Store(), Gate: gate,
		Holder: record.Holder{Owner: "ann", Host: "h", Nonce: "a"},
	}
}

func TestSecondDownListsKeptObjects(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(inMemory(awstest.Options{}))
		must(t, s.Up(t.Context()))
		receipt, err := s.Down(t.Context(), false)
		must(t, err)
		p, err := s.forgotten(t).PlanDown(t.Context(), false)
		must(t, err)
		got, want := append(installer.KeptReceipt(p).Kept, installer.KeptSettings("lab")), receipt.Kept
		if len(want) < 3 || !slices.Equal(keys(got), keys(want)) {
			t.Errorf("got %v, want %v", keys(got), keys(want))
		}
	})
}

func keys(fs []resource.Found) []string {
	var out []string
	for _, f := range fs {
		out = append(out, f.String()+": "+f.Retain)
	}
	slices.Sort(out)
	return out
}

func wantKept(t *testing.T, kept []resource.Found, name, what string) {
	t.Helper()
	found := slices.ContainsFunc(kept, func(f resource.Found) bool { return f.Name == name && strings.Contains(f.Retain, what) })
	if !found {
		t.Errorf("got %v kept, want %s for the sake of %s", keys(kept), name, what)
	}
}

// password returns the administrator's password, or "" if it was deleted.
func (s *stage) password(t *testing.T) string {
	t.Helper()
	out, err := s.clients(nil).Secrets.GetSecretValue(t.Context(), &sm.GetSecretValueInput{SecretId: sdk.String(storage.SecretName("lab", "admin-password"))})
	if cloud.KindOf(err) == cloud.NotFound {
		return ""
	}
	must(t, err)
	return sdk.ToString(out.SecretString)
}

// forgotten returns a new process that knows only the cluster ID.
func (s *stage) forgotten(t *testing.T) *installer.Installer {
	t.Helper()
	free := s.clients(nil)
	target, err := aws.Open(t.Context(), aws.Config{Layout: layout.Layout{Spec: spec.AWS{Common: spec.Common{Cluster: "lab"}, Region: "us-west-2"}}, Clients: free, Free: free, Options: hosted.Options{Pause: s.pause}})
	must(t, err)
	return &installer.Installer{Cluster: "lab", Platform: "aws", Deployment: target, Store: target.Store()}
}
