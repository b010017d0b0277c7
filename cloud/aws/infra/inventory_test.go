package infra_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	sm "github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/compute"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/storage"
	"github.com/det-deploy/det-deploy/cloud/infra"
	awstest "github.com/det-deploy/det-deploy/test/fake/aws"
)

// launch launches instances like the master of a cluster.
func (h byHand) launch(cluster string, n int32, spot bool) []string {
	h.t.Helper()
	tags := []types.Tag{{Key: aws.String(mark.ClusterTag), Value: aws.String(cluster)}, {Key: aws.String("det-deploy-pool"), Value: aws.String("gpu")}}
	in := &ec2.RunInstancesInput{
		ImageId: aws.String(awstest.ImageAMD64), InstanceType: "m6i.large", MinCount: aws.Int32(n), MaxCount: aws.Int32(n),
		NetworkInterfaces: []types.InstanceNetworkInterfaceSpecification{{
			DeviceIndex: aws.Int32(0), SubnetId: aws.String(h.id(mark.KindSubnet, "b")), Groups: []string{h.id(mark.KindGroup, "agents")},
		}},
		TagSpecifications: []types.TagSpecification{
			{ResourceType: types.ResourceTypeInstance, Tags: tags},
			{ResourceType: types.ResourceTypeVolume, Tags: tags},
		},
	}
	if spot {
		in.InstanceMarketOptions = &types.InstanceMarketOptionsRequest{MarketType: types.MarketTypeSpot}
		in.TagSpecifications = append(in.TagSpecifications, types.TagSpecification{ResourceType: types.ResourceTypeSpotInstancesRequest, Tags: tags})
	}
	out, err := h.EC2.RunInstances(h.t.Context(), in)
	must(h.t, err)
	var ids []string
	for _, i := range out.Instances {
		ids = append(ids, aws.ToString(i.InstanceId))
	}
	return ids
}

// Up ignores the eleven agents, some of them spot instances, and down deletes them. Those of
// another cluster remain.
func TestUpIgnoresAndDownDeletesLaunchedInstances(t *testing.T) {
	for name, world := range worlds() {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				m := inMemory(world)
				before := m.world.Live()
				must(t, m.up(t.Context()))
				m.settleDown()
				h := byHand{m.clients(nil), t, m}
				h.launch("lab", 8, false)
				h.launch("lab", 3, true)
				m.settleDown()
				m.wantNothingToDo(t)
				got := m.live(t)
				if n := strings.Count(strings.Join(got, "\n"), "agent/"); n < 11 {
					t.Errorf("got %d agents listed, want 11: %v", n, got)
				}
				must(t, m.downAll(t.Context()))
				time.Sleep(2 * time.Minute) //nolint:forbidigo // synctest's clock: machines end in their own time
				if d := cmp.Diff(m.world.Live(), before); d != "" {
					t.Errorf("left behind: got -, want +:\n%s", d)
				}
			})
		})
	}
}

func TestListExcludesOtherClusters(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := inMemory(awstest.Options{})
		must(t, m.up(t.Context()))
		h := byHand{m.clients(nil), t, m}
		theirs := h.launch("labor", 2, true)
		fs := m.inventory(t)
		for _, f := range fs {
			if slices.Contains(theirs, f.ID) || f.Launched {
				t.Errorf("%s is listed and belongs to another cluster", f)
			}
		}
	})
}

func TestUnattachedInterfaceIsDeletedWithNetwork(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := inMemory(slow())
		before := m.world.Live()
		must(t, m.up(t.Context()))
		m.settleDown()
		h := byHand{m.clients(nil), t, m}
		m.world.GiveInterface(h.id(mark.KindSubnet, "a"), map[string]string{mark.ClusterTag: "lab"}, h.id(mark.KindGroup, "agents"))
		m.settleDown()
		must(t, m.downAll(t.Context()))
		if d := cmp.Diff(m.world.Live(), before); d != "" {
			t.Errorf("left behind: got -, want +:\n%s", d)
		}
	})
}

// An interface of another owner in the cluster's subnet cannot be deleted: down fails after its
// limit and names the interface.
func TestDownNamesHolderOfSubnet(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := inMemory(awstest.Options{})
		must(t, m.up(t.Context()))
		h := byHand{m.clients(nil), t, m}
		eni := m.world.GiveInterface(h.id(mark.KindSubnet, "a"), map[string]string{"team": "storage"})
		_, err := m.down(t.Context(), true)
		if err == nil || !strings.Contains(err.Error(), eni) {
			t.Fatalf("got %v, want an error that names %s", err, eni)
		}
		w, ok := errors.AsType[*infra.WaitError](err)
		if !ok || cloud.KindOf(err) != cloud.Conflict {
			t.Errorf("got %v (%v), want a wait that ended with a conflict", err, w)
		}
	})
}

// A bucket is emptied of all versions, delete markers and incomplete multipart uploads, across many
// pages, and only after the user has agreed.
func TestDownDeletesBucketWithContent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := inMemory(awstest.Options{})
		before := m.world.Live()
		m.wish.versioning = true
		must(t, m.up(t.Context()))
		h := byHand{m.clients(nil), t, m}
		bucket := aws.String("det-deploy-lab-data-" + awstest.Account)
		for i := range 9 {
			key := aws.String("checkpoints/" + string(rune('a'+i%5)))
			_, err := h.S3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: bucket, Key: key, Body: bytes.NewReader([]byte{byte(i)})})
			must(t, err)
			if i%3 == 0 {
				_, err := h.S3.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: bucket, Key: key})
				must(t, err)
			}
		}
		m.world.GiveUpload(*bucket, "checkpoints/unfinished")
		_, err := m.down(t.Context(), false)
		must(t, err)
		if _, found := m.world.Object(*bucket, "checkpoints/e"); !found {
			t.Error("down deleted data without being asked")
		}
		must(t, m.downAll(t.Context()))
		if d := cmp.Diff(m.world.Live(), before); d != "" {
			t.Errorf("left behind: got -, want +:\n%s", d)
		}
	})
}

func TestEmptyBucketNamesUndeletableObject(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := inMemory(awstest.Options{})
		must(t, m.up(t.Context()))
		h := byHand{m.clients(nil), t, m}
		_, err := h.S3.PutObject(t.Context(), &s3.PutObjectInput{
			Bucket: aws.String("det-deploy-lab-data-" + awstest.Account), Key: aws.String("locked"), Body: bytes.NewReader(nil),
		})
		must(t, err)
		m.world.Undeletable("locked")
		if _, err := m.down(t.Context(), true); err == nil || !strings.Contains(err.Error(), "locked") || cloud.KindOf(err) != cloud.Denied {
			t.Errorf("got %v, want an error with the object", err)
		}
	})
}

// An object of another owner with one of the cluster's names is neither changed nor deleted.
func TestForeignObjectsAreNotTouched(t *testing.T) {
	for _, tc := range []struct {
		name string
		take func(h byHand) error
	}{
		{"a bucket", func(h byHand) error {
			name := aws.String("det-deploy-lab-data-" + awstest.Account)
			_, err := h.S3.CreateBucket(h.t.Context(), &s3.CreateBucketInput{
				Bucket: name, CreateBucketConfiguration: &s3types.CreateBucketConfiguration{LocationConstraint: "us-west-2"},
			})
			must(h.t, err)
			_, err = h.S3.PutBucketTagging(h.t.Context(), &s3.PutBucketTaggingInput{
				Bucket: name, Tagging: &s3types.Tagging{TagSet: []s3types.Tag{{Key: aws.String("team"), Value: aws.String("storage")}}},
			})
			return err
		}},
		{"a secret", func(h byHand) error {
			_, err := h.Secrets.CreateSecret(h.t.Context(), &sm.CreateSecretInput{
				Name: aws.String("det-deploy/lab/admin-password"), SecretString: aws.String("theirs"),
			})
			return err
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				m := inMemory(awstest.Options{})
				must(t, tc.take(byHand{m.clients(nil), t, m}))
				before := m.world.Live()
				err := m.up(t.Context())
				hint := interface{ Hint() string }(nil)
				if cloud.KindOf(err) != cloud.Conflict || !errors.As(err, &hint) || !strings.Contains(hint.Hint(), "--cluster-id") {
					t.Errorf("got %v, want a conflict with a fix", err)
				}
				if d := cmp.Diff(m.world.Live(), before); d != "" {
					t.Errorf("something was changed: got -, want +:\n%s", d)
				}
			})
		})
	}
}

func TestVolumeOfOtherInstanceIsNotDetached(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := inMemory(awstest.Options{})
		must(t, m.up(t.Context()))
		h := byHand{m.clients(nil), t, m}
		other := h.launch("labor", 1, false)[0]
		volume, err := h.EC2.CreateVolume(t.Context(), &ec2.CreateVolumeInput{AvailabilityZone: aws.String("us-west-2b"), Size: aws.Int32(100)})
		must(t, err)
		_, err = h.EC2.AttachVolume(t.Context(), &ec2.AttachVolumeInput{VolumeId: volume.VolumeId, InstanceId: &other, Device: aws.String("/dev/sdf")})
		must(t, err)
		master := &compute.Master{In: m.cluster(nil), Name: "master", Subnet: infra.Existing(h.id(mark.KindSubnet, "a")), Profile: infra.Existing("")}
		_, _, err = infra.Nonced(master).Find(t.Context())
		must(t, err)
		a := &compute.Attachment{In: m.cluster(nil), Name: "theirs", Volume: infra.Existing(*volume.VolumeId), Instance: master}
		found, _, err := a.Find(t.Context())
		must(t, err)
		if found.Exists() {
			t.Errorf("got %s, want nothing", found)
		}
		if err := a.Create(t.Context()); cloud.KindOf(err) != cloud.Conflict || !strings.Contains(err.Error(), other) {
			t.Errorf("got %v, want a conflict that names %s", err, other)
		}
	})
}

func TestDownRetainsSnapshots(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := inMemory(slow())
		must(t, m.up(t.Context()))
		m.settleDown()
		h := byHand{m.clients(nil), t, m}
		s := infra.Nonced(&storage.Snapshot{In: m.cluster(nil), Name: "before-2", Volume: infra.Existing(h.id(mark.KindVolume, "data"))})
		must(t, s.CreateOnce(t.Context(), "nonce"))
		m.settleDown()
		made, err := s.Made(t.Context(), "nonce")
		must(t, err)
		found, drift, err := s.Find(t.Context())
		must(t, err)
		if len(made) != 1 || made[0] != found || len(drift) > 0 || found.Retain == "" {
			t.Errorf("got %v, made %v with %v, want one that is kept", found, made, drift)
		}
		m.wantNothingToDo(t)
		_, err = m.down(t.Context(), false)
		must(t, err)
		if d := cmp.Diff(m.live(t), append(slices.Insert(slices.Clone(kept), 2, "snapshot/before-2"), []string{}...)); d != "" {
			t.Errorf("got -, want +:\n%s", d)
		}
		must(t, m.downAll(t.Context()))
	})
}
