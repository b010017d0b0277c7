package cloud_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cloud"
)

func TestOrderOffers(t *testing.T) {
	t.Parallel()
	two := []string{"a", "b"}
	for name, tc := range map[string]struct {
		zones          []string
		spot, fallback bool
		want           string
	}{
		"by type, then by zone":              {[]string{"s1", "s2"}, false, false, "a s1 on-demand, a s2 on-demand, b s1 on-demand, b s2 on-demand"},
		"without zones the platform chooses": {nil, true, false, "a  spot, b  spot"},
		"all spot before any on-demand":      {[]string{"s1"}, true, true, "a s1 spot, b s1 spot, a s1 on-demand, b s1 on-demand"},
		"a fallback without spot is ignored": {nil, false, true, "a  on-demand, b  on-demand"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, o := range cloud.OrderOffers(two, tc.zones, tc.spot, tc.fallback) {
				got = append(got, fmt.Sprintf("%s %s %s", o.Type, o.Zone, o.Price))
			}
			if diff := cmp.Diff(strings.Join(got, ", "), tc.want); diff != "" {
				t.Error(diff)
			}
		})
	}
}
