package infra_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/storage"
	"github.com/det-deploy/det-deploy/cloud/resource"
	awstest "github.com/det-deploy/det-deploy/test/fake/aws"
)

// withoutMachine runs an up that fails for lack of capacity, so that the volume remains blank.
func (m *memory) withoutMachine(t *testing.T) {
	t.Helper()
	m.world.SetCapacity(m.wish.machine, "us-west-2a", 0)
	if err := m.up(t.Context()); cloud.KindOf(err) != cloud.NoCapacity {
		t.Fatalf("got %v, want that the zone has none", err)
	}
	m.settleDown()
}

// data returns the data volume from the inventory.
func (m *memory) data(t *testing.T) resource.Found {
	t.Helper()
	for _, f := range m.inventory(t) {
		if f.Kind == mark.KindVolume {
			return f
		}
	}
	return resource.Found{}
}

func (m *memory) marks(t *testing.T) map[string]string {
	t.Helper()
	v, err := storage.DescribeVolume(t.Context(), m.cluster(nil), m.data(t).ID)
	must(t, err)
	return mark.EC2TagMap(v.Tags)
}

// A volume that was never attached contains no data: `up` may replace it and `down` deletes it.
func TestBlankVolumeIsReplacedAndDeleted(t *testing.T) {
	for name, world := range worlds() {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				m := inMemory(world)
				m.withoutMachine(t)
				first := m.data(t)
				if first.Retain != "" {
					t.Errorf("got a blank volume that is kept because it %s", first.Retain)
				}
				m.wish.volumeGiB = 50 // a volume cannot shrink
				if got := strings.Join(m.plan(t), "\n"); !strings.Contains(got, "replace aws/volume/data; size: 100 GiB → 50 GiB") {
					t.Errorf("got %s, want the volume replaced", got)
				}
				if err := m.up(t.Context()); cloud.KindOf(err) != cloud.NoCapacity {
					t.Fatalf("got %v, want that the zone has none", err)
				}
				m.settleDown()
				if second := m.data(t); second.ID == first.ID {
					t.Errorf("got volume %s, want another one", second.ID)
				}
				_, err := m.down(t.Context(), false)
				must(t, err)
				if left := m.data(t); left.Exists() {
					t.Errorf("got %s left, want no volume", left)
				}
			})
		})
	}
}

// A volume is retained once it was attached to an instance.
func TestAttachedVolumeIsRetained(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := inMemory(awstest.Options{})
		must(t, m.up(t.Context()))
		m.settleDown()
		if got := m.marks(t)[mark.BlankTag]; got != mark.BlankNo {
			t.Errorf("got the mark %q, want %q", got, mark.BlankNo)
		}
		_, err := m.down(t.Context(), false)
		must(t, err)
		m.settleDown()
		if got := m.data(t); got.Retain != "holds the database" {
			t.Errorf("got %q, want that it is kept", got.Retain)
		}
		m.wish.volumeGiB = 50
		if got := strings.Join(m.plan(t), "\n"); !strings.Contains(got, "refuse aws/volume/data; size: 100 GiB → 50 GiB") {
			t.Errorf("got %s, want the volume refused", got)
		}
	})
}

// A user who attaches a blank volume in the console may write to it.
func TestManuallyAttachedVolumeIsNotBlank(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := inMemory(awstest.Options{})
		must(t, m.up(t.Context()))
		m.settleDown()
		id := m.data(t).ID
		_, err := m.clients(nil).EC2.CreateTags(t.Context(), &ec2.CreateTagsInput{
			Resources: []string{id}, Tags: []types.Tag{{Key: aws.String(mark.BlankTag), Value: aws.String(mark.BlankYes)}},
		})
		must(t, err)
		m.settleDown()
		if got := m.data(t); got.Retain != "holds the database" {
			t.Errorf("got %q, want that it is kept", got.Retain)
		}
		if got := m.plan(t); len(got) != 1 || got[0] != "update aws/volume/data; tags.det-deploy-blank: yes → no" {
			t.Errorf("got %q, want the mark taken off", got)
		}
		must(t, m.up(t.Context()))
		m.settleDown()
		m.wantNothingToDo(t)
		if got := m.marks(t)[mark.BlankTag]; got != mark.BlankNo {
			t.Errorf("got the mark %q, want %q", got, mark.BlankNo)
		}
	})
}
