package manifests_test

import (
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/cloud/host/manifest"
	"github.com/det-deploy/det-deploy/installer/hosted/manifests"
)

func TestCompareShowsNoHash(t *testing.T) {
	t.Parallel()
	of := func(sum string) manifest.Manifest {
		return manifest.Manifest{Files: map[string]manifest.File{"/etc/a": {SHA256: sum}}}
	}
	for name, tc := range map[string]struct {
		have, want manifest.Manifest
		shown      string
	}{
		"equal":   {of("aa"), of("aa"), ""},
		"another": {of("aa"), of("bb"), "outdated current"},
		"new":     {manifest.Manifest{}, of("bb"), "absent present"},
		"removed": {of("aa"), manifest.Manifest{}, "present absent"},
	} {
		var shown []string
		for _, d := range manifests.Compare(tc.have, tc.want) {
			shown = append(shown, d.Have, d.Want)
		}
		if got := strings.Join(shown, " "); got != tc.shown {
			t.Errorf("%s: got %q, want %q", name, got, tc.shown)
		}
	}
	one, other := manifests.Compare(of("aa"), of("bb")), manifests.Compare(of("aa"), of("cc"))
	if one[0] == other[0] {
		t.Errorf("got %v for two contents, want that a plan tells them apart", one[0])
	}
}
