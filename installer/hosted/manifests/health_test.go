package manifests

import (
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/cloud/host/manifest"
)

func TestDescribeHealth(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	m := manifest.Manifest{Generation: 3, Version: "1.2.3", Phase: manifest.Serve}
	well := manifest.Status{Schema: manifest.StatusSchema, Generation: 3, Version: "1.2.3", Phase: manifest.Serve, Ready: true, At: noon.Add(-time.Minute)}
	for _, tc := range []struct {
		name string
		edit func(*manifest.Status)
		want string
	}{
		{"well", func(*manifest.Status) {}, ""},
		{"never heard of", func(s *manifest.Status) { *s = manifest.Status{} }, "the master's machine has not reported yet"},
		{"silent", func(s *manifest.Status) { s.At = noon.Add(-time.Hour) }, "the master's machine has not reported for 1h0m0s"},
		{"silent as long as a machine may be", func(s *manifest.Status) { s.At = noon.Add(-manifest.StatusEvery) }, ""},
		{"ill", func(s *manifest.Status) { s.Ready, s.Error = false, "the disk is full" }, "the master's machine reports: the disk is full"},
		{"starting", func(s *manifest.Status) { s.Ready = false }, "the master is starting"},
	} {
		s := well
		tc.edit(&s)
		if got := describeHealth(s, m, noon); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
	}
}
