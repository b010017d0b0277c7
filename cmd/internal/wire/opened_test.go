package wire

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/installer/hosted"
	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/installer/spec"
	"github.com/det-deploy/det-deploy/internal/document"
	recordtest "github.com/det-deploy/det-deploy/test/contract/record"
)

// removed returns the store of a cluster that was removed and kept its settings.
func removed(t *testing.T, settings map[string]string) record.Store {
	t.Helper()
	s := new(recordtest.Memory)
	if err := s.Make(t.Context()); err != nil {
		t.Fatal(err)
	}
	l, err := record.Acquire(t.Context(), record.Request{Cluster: "lab", Store: s, Holder: record.Holder{Owner: "ann", Nonce: "a"}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := record.Open(t.Context(), s, l, record.Record{Cluster: "lab", Target: "aws"})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Change(t.Context(), func(r *record.Record) { r.Settings = settings }); err != nil {
		t.Fatal(err)
	}
	l.Stop()
	if kept, err := record.Retain(t.Context(), s); err != nil || !kept {
		t.Fatalf("got %t and %v", kept, err)
	}
	return s
}

func TestARemovedClusterGetsItsSettingsBack(t *testing.T) {
	t.Parallel()
	from := removed(t, map[string]string{
		"region": "us-west-2", "inbound-cidr": "203.0.113.0/24", "max-agents": "7", hosted.KnownSetting: `{"Zone":"us-west-2a"}`,
	})
	var o Opened
	if err := o.ReadRecord(t.Context(), from); err != nil || o.Known || !o.Removed {
		t.Fatalf("got known %t, removed %t and %v", o.Known, o.Removed, err)
	}
	q := CloudRequest{Cluster: "lab", Given: &spec.Given{Flags: []document.Given{{Path: "aux_pool.max_agents", Value: "2", Source: "--aux-max-agents"}}}}
	r, err := ReadSettings[spec.AWS, struct{ Zone string }](q, o, spec.AWSFlags(), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"region": "us-west-2", "inbound-cidr": "203.0.113.0/24", "max-agents": "7", "aux-max-agents": "2"}
	if d := cmp.Diff(r.All, want); d != "" || r.Unread {
		t.Errorf("got -, want +:\n%s", d)
	}
	if r.Known.Zone != "" {
		t.Errorf("got zone %s, which the new cluster need not have", r.Known.Zone)
	}
}

func TestARemovedClusterIsListedAsDown(t *testing.T) {
	t.Parallel()
	c := ListedCluster{Cluster: "lab", Account: []string{"--project", "p"}}
	c.AddRecord(t.Context(), "gcp", removed(t, map[string]string{"region": "us-west1"}))
	if !strings.HasPrefix(c.Note, "down; `det-deploy gcp up --cluster-id lab --project p`") {
		t.Errorf("got %q", c.Note)
	}
}
