package wire

import (
	"testing"

	"github.com/det-deploy/det-deploy/installer/spec"
)

func TestReadSettingsLocation(t *testing.T) {
	t.Parallel()
	region, _ := spec.AWSFlags().Find("region")
	for _, tc := range []struct {
		name     string
		settings map[string]string
		want     string
	}{
		{"nothing", nil, ""},
		{"a flag", map[string]string{"region": "eu-west-1", "cluster.yaml": "region: us-west-2\n"}, "eu-west-1"},
		{"a file", map[string]string{"cluster.yaml": "region: us-west-2\n"}, "us-west-2"},
		{"a file without", map[string]string{"cluster.yaml": "key_pair: me\n"}, ""},
	} {
		if got, err := findNamed(tc.settings, region); err != nil || got != tc.want {
			t.Errorf("%s: got %q and %v, want %q", tc.name, got, err, tc.want)
		}
	}
}
