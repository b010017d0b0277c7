package spec_test

import (
	"testing"

	"github.com/det-deploy/det-deploy/installer/spec"
)

func TestSingleAddressIsRange(t *testing.T) {
	t.Parallel()
	a := spec.DefaultAWS()
	a.Cluster, a.Region = "lab", "us-west-2"
	a.Network.InboundCIDRs = []string{"203.0.113.7", "198.51.100.0/24"}
	a.Complete("lab")
	if err := a.Validate("").Err(); err != nil {
		t.Error(err)
	}
	if got := a.Network.InboundRanges(); len(got) != 2 || got[0].String() != "203.0.113.7/32" {
		t.Errorf("got %v, want 203.0.113.7/32 first", got)
	}
}
