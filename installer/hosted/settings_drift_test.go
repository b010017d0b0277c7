package hosted

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/det-deploy/det-deploy/cloud/host/manifest"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

func TestSettingsAreComparedByKey(t *testing.T) {
	t.Parallel()
	have := map[string]string{"region": "us-west-2", "spot": "true", "startup-script-file": "echo one"}
	want := map[string]string{"region": "us-west-2", "max-agents": "5", "startup-script-file": "echo two"}
	if d := cmp.Diff(compareRecorded(have, want), []resource.Drift{
		{Path: "settings.max-agents", Have: "absent", Want: "present"},
		{Path: "settings.spot", Have: "present", Want: "absent"},
		{Path: "settings.startup-script-file", Have: "outdated", Want: "current"},
	}, cmpopts.IgnoreFields(resource.Drift{}, "Digest")); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
	if got := compareRecorded(have, have); len(got) > 0 {
		t.Errorf("got %v for equal settings", got)
	}
}

func TestKeysReplaceTheFile(t *testing.T) {
	t.Parallel()
	file := resource.Drift{Path: manifest.ConfigFile, Have: "outdated", Want: "current", Digest: "aa bb"}
	other := resource.Drift{Path: "phase", Have: "stop", Want: "run"}
	key := resource.Drift{Path: "pools.compute.max_instances", Have: "5", Want: "8"}
	for name, tt := range map[string]struct{ files, keys, want []resource.Drift }{
		"no keys":       {[]resource.Drift{file, other}, nil, []resource.Drift{file, other}},
		"keys":          {[]resource.Drift{file, other}, []resource.Drift{key}, []resource.Drift{{Path: key.Path, Have: "5", Want: "8", Digest: "aa bb"}, other}},
		"the same file": {[]resource.Drift{other}, nil, []resource.Drift{other}},
	} {
		if d := cmp.Diff(describeFiles(tt.files, tt.keys), tt.want); d != "" {
			t.Errorf("%s: got -, want +:\n%s", name, d)
		}
	}
}
