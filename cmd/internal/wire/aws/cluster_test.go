package aws

import (
	"testing"

	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	"github.com/det-deploy/det-deploy/installer/hosted"
	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/installer/target/aws"
)

func openedWith(settings map[string]string) *opened {
	return &opened{CloudCluster: wire.CloudCluster{Opened: wire.Opened{Known: true, Record: record.Record{Settings: settings}}}}
}

// The record of another version may contain unknown settings. The cluster can still be removed, because
// its resources are found by their tags.
func TestUnreadableSettingsAreEmpty(t *testing.T) {
	t.Parallel()
	a := openedWith(map[string]string{
		"region": "us-west-2", "cluster.yaml": "from_the_future: true\n",
		hosted.KnownSetting: `{"types":{"m6i.large":{"vcpu":2,"architectures":["amd64"]}}}`,
	})
	c, err := a.targetConfig(Request{CloudRequest: wire.CloudRequest{Cluster: "lab"}})
	if err != nil || a.Unread == nil || !c.Unread {
		t.Fatalf("got %v and unread %v, want only that it is unread", err, a.Unread)
	}
	wanted, err := (&aws.Target{Config: c}).Wanted()
	if err != nil || len(wanted) > 0 || c.Spec.Cluster != "lab" {
		t.Errorf("got %d wanted of %q and %v, want none of lab", len(wanted), c.Spec.Cluster, err)
	}
}

// Settings that an earlier version accepted are read, so that a new rule does not lock the cluster out.
func TestSettingsOfEarlierVersionAreRead(t *testing.T) {
	t.Parallel()
	a := openedWith(map[string]string{
		"region": "us-west-2", "inbound-cidr": "203.0.113.7/32", "agent-public-ip": "false",
	})
	c, err := a.targetConfig(Request{CloudRequest: wire.CloudRequest{Cluster: "lab"}})
	if err != nil || a.Unread != nil || c.Unread || c.Spec.Network.PublicIP {
		t.Errorf("got %v and unread %v, want agents without public addresses", err, a.Unread)
	}
}
