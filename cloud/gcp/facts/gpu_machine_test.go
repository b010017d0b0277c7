package facts_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/cloud/gcp/facts"
	"github.com/det-deploy/det-deploy/cloud/gcp/machinetype"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

// Every listed machine is valid in the form in which it is listed.
func TestMachinesWithGPUs(t *testing.T) {
	t.Parallel()
	f := of(t, gcptest.New(t, gcptest.Options{Page: 500}))
	zones, err := f.Zones(t.Context())
	must(t, err)
	all, err := f.GPUMachines(t.Context(), zones)
	must(t, err)
	var names []string
	for _, m := range all {
		names = append(names, m.Name)
		wanted, err := machinetype.Parse(m.Name)
		must(t, err)
		must(t, facts.CheckGPUs(wanted, m.VCPU))
		again, err := f.Types(t.Context(), zones, wanted)
		must(t, err)
		if m.GPUs == 0 || !slices.Equal(again[m.Name].Zones, m.Zones) {
			t.Errorf("%s: got zones %v, want %v, and GPUs", m, m.Zones, again[m.Name].Zones)
		}
	}
	for _, want := range []string{"g2-standard-4", "a2-highgpu-1g", "n1-standard-8+1xnvidia-tesla-t4", "n1-standard-32+4xnvidia-tesla-t4"} {
		if !slices.Contains(names, want) {
			t.Errorf("got %s, want %s among them", strings.Join(names, " "), want)
		}
	}
	if all[0].GPUs != 1 || all[len(all)-1].GPUs < all[0].GPUs {
		t.Errorf("got %s first and %s last, want the smallest first", all[0], all[len(all)-1])
	}
}
