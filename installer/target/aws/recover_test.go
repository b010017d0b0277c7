package aws_test

import (
	"context"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/hosted"
	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/installer/spec"
	"github.com/det-deploy/det-deploy/installer/target/aws"
	"github.com/det-deploy/det-deploy/installer/target/aws/control"
	"github.com/det-deploy/det-deploy/installer/target/aws/layout"
	awstest "github.com/det-deploy/det-deploy/test/fake/aws"
)

func TestRecoverLostRecordFromCopy(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(inMemory(awstest.Options{}), "max-agents", "7", "key-pair", "")
		must(t, s.Up(t.Context()))
		store := s.store()
		r, version, _, err := record.Read(t.Context(), store)
		must(t, err)
		want := r.Settings
		must(t, store.Delete(t.Context(), record.Key, version))
		target, err := aws.Open(t.Context(), aws.Config{Layout: layout.Layout{Spec: spec.AWS{Common: spec.Common{Cluster: "lab"}, Region: "us-west-2"}}, Clients: s.clients(nil), Free: s.clients(nil)})
		must(t, err)
		got, err := target.Recover(t.Context())
		must(t, err)
		if d := cmp.Diff(got.Settings, want); d != "" || !got.Whole {
			t.Errorf("whole %v, settings (-got +want):\n%s", got.Whole, d)
		}
	})
}

// After the control bucket is lost, the settings are recovered from live objects. The next `up`
// restores only the content of the bucket.
func TestRecoverFromLiveObjects(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(inMemory(awstest.Options{}), "inbound-cidr", "198.51.100.0/24,203.0.113.0/24", "data-volume-size", "150", "tag", "team=ml", "network-cidr", "10.9.0.0/16")
		must(t, s.Up(t.Context()))
		store := control.Open(s.clients(nil), "lab", awstest.Account)
		must(t, store.Destroy(t.Context()))
		target, err := aws.Open(t.Context(), aws.Config{Layout: layout.Layout{Spec: spec.AWS{Common: spec.Common{Cluster: "lab"}, Region: "us-west-2"}}, Clients: s.clients(nil), Free: s.clients(nil)})
		must(t, err)
		got, err := target.Recover(t.Context())
		must(t, err)
		delete(got.Settings, hosted.KnownSetting)
		want := map[string]string{
			"region": "us-west-2", "inbound-cidr": "198.51.100.0/24,203.0.113.0/24", "data-volume-size": "150",
			"tag": "team=ml", "network-cidr": "10.9.0.0/16", "master-instance-type": "m6i.large",
		}
		if d := cmp.Diff(got.Settings, want); d != "" || got.Whole {
			t.Errorf("whole %v, settings (-got +want):\n%s", got.Whole, d)
		}
		s.Settings = got.Settings
		must(t, s.Up(t.Context()))
		s.WantNothingToDo(t)
	})
}

// Consoles copy all tags to a duplicate of a resource.
func TestRecoverIgnoresCopiedNetwork(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(inMemory(awstest.Options{}), "network-cidr", "10.9.0.0/16")
		must(t, s.Up(t.Context()))
		c := s.clients(nil)
		must(t, control.Open(c, "lab", awstest.Account).Destroy(t.Context()))
		seen, err := c.EC2.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{Filters: []types.Filter{{Name: sdk.String("cidr"), Values: []string{"10.9.0.0/16"}}}})
		must(t, err)
		_, err = c.EC2.CreateVpc(t.Context(), &ec2.CreateVpcInput{
			CidrBlock: sdk.String("10.66.0.0/16"), TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeVpc, Tags: seen.Vpcs[0].Tags}},
		})
		must(t, err)
		target, err := aws.Open(t.Context(), aws.Config{Layout: layout.Layout{Spec: spec.AWS{Common: spec.Common{Cluster: "lab"}, Region: "us-west-2"}}, Clients: c, Free: c})
		must(t, err)
		got, err := target.Recover(t.Context())
		must(t, err)
		if got.Settings["network-cidr"] != "10.9.0.0/16" {
			t.Errorf("got %v, want the settings of the cluster's own network", got.Settings)
		}
	})
}

func TestRecoverWithoutCluster(t *testing.T) {
	t.Parallel()
	c := awstest.New(awstest.Options{}).Clients(nil)
	target, err := aws.Open(t.Context(), aws.Config{Layout: layout.Layout{Spec: spec.AWS{Common: spec.Common{Cluster: "lab"}, Region: "us-west-2"}}, Clients: c, Free: c})
	must(t, err)
	if got, err := target.Recover(t.Context()); got.Settings != nil || err != nil {
		t.Errorf("got %v and %v, want nothing", got, err)
	}
}

// `down` needs only the cluster ID.
func TestDownWithoutASpec(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(inMemory(awstest.Options{}))
		must(t, s.Up(t.Context()))
		must(t, downByID(t.Context(), s, func(gate *resource.Gate) api.Clients { return s.clients(gate) }))
		s.wantLeft(t)
		must(t, downByID(t.Context(), s, func(gate *resource.Gate) api.Clients { return s.clients(gate) })) // it may be repeated
		s.wantLeft(t)
	})
}

func downByID(ctx context.Context, s *stage, clients func(*resource.Gate) api.Clients) error {
	gate := new(resource.Gate)
	target, err := aws.Open(ctx, aws.Config{
		Layout: layout.Layout{Spec: spec.AWS{Common: spec.Common{Cluster: "lab"}, Region: "us-west-2"}}, Clients: clients(gate), Free: clients(nil), Options: hosted.Options{Pause: s.Pause},
	})
	if err != nil {
		return err
	}
	in := &installer.Installer{Cluster: "lab", Platform: "aws", Deployment: target, Store: target.Store(), Gate: gate, Holder: record.Holder{Owner: "ann", Host: "h", Nonce: "a"}}
	p, err := in.PlanDown(ctx, true)
	if err != nil {
		return err
	}
	_, err = in.Down(ctx, p, true)
	return err
}
