package gcp_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/installer/hosted"
	"github.com/det-deploy/det-deploy/installer/target/gcp"
	"github.com/det-deploy/det-deploy/installer/target/gcp/control"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

// After the control bucket is lost, the settings are recovered from live objects. The next `up`
// restores only the content of the bucket.
func TestRecoverFromLiveObjects(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		prepare func(*testing.T, *gcptest.World) []string
		flags   []string
		want    map[string]string
	}{
		"own network": {
			behindNAT,
			[]string{"inbound-cidr", "198.51.100.0/24,203.0.113.0/24", "ssh", "true", "data-disk-size", "150", "label", "team=ml", "network-cidr", "10.9.0.0/16", "network-tag", "office"},
			map[string]string{
				"inbound-cidr": "198.51.100.0/24,203.0.113.0/24", "ssh": "true", "data-disk-size": "150", "data-disk-type": "pd-balanced",
				"label": "team=ml", "network-cidr": "10.9.0.0/16", "network-tag": "office", "nat": "true",
			},
		},
		"shared network": {
			shared,
			nil,
			map[string]string{
				"host-project": "net-host", "network": "default", "subnetwork": "default", "firewall": "existing",
				"data-disk-size": "100", "data-disk-type": "pd-balanced",
			},
		},
		"disk and account of the user's": {
			userOwned,
			[]string{"network", "default", "subnetwork", "default"},
			map[string]string{
				"inbound-cidr": "203.0.113.0/24", "network": "default", "subnetwork": "default", "data-disk": "mine",
				"master-service-account": "boss@" + gcptest.Project + ".iam.gserviceaccount.com",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := newStage(t, gcptest.Options{})
				neighbours(t, s.world)
				s.Set(tc.prepare(t, s.world)...)
				s.Set(tc.flags...)
				must(t, s.Up(t.Context()))
				must(t, control.Open(s.clients(nil), "lab", gcptest.Number).Destroy(t.Context()))
				got, err := s.byID(t).Deployment.(*gcp.Target).Recover(t.Context())
				must(t, err)
				if _, known := got.Settings[hosted.KnownSetting]; !known || got.Whole {
					t.Errorf("got %+v, want the known settings, not whole", got)
				}
				delete(got.Settings, hosted.KnownSetting)
				tc.want["project"], tc.want["region"], tc.want["master-machine-type"] = gcptest.Project, "us-central1", "n2-standard-2"
				if d := cmp.Diff(got.Settings, tc.want); d != "" {
					t.Errorf("settings (-got +want):\n%s", d)
				}
			})
		})
	}
}

func TestRecoverReadsTheCopyOfTheSettings(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{}, "max-agents", "7")
		must(t, s.Up(t.Context()))
		got, err := s.byID(t).Deployment.(*gcp.Target).Recover(t.Context())
		must(t, err)
		if !got.Whole || got.Settings["max-agents"] != "7" {
			t.Errorf("got %+v, want the copy", got)
		}
	})
}

func TestRecoverWithoutCluster(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{})
		neighbours(t, s.world)
		if got, err := s.byID(t).Deployment.(*gcp.Target).Recover(t.Context()); got.Settings != nil || err != nil {
			t.Errorf("got %v and %v, want nothing", got, err)
		}
	})
}
