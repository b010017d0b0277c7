package host

import (
	"testing"

	"github.com/det-deploy/det-deploy/cloud/host/manifest"
)

// The services of a master's machine restart for settings that they have read already.
func TestServicesRestartForOtherSettings(t *testing.T) {
	t.Parallel()
	with := func(proxy, logs string) manifest.Manifest {
		m := manifest.Manifest{Logs: logs, Files: map[string]manifest.File{}}
		if proxy != "" {
			m.Files[manifest.ProxyFile] = manifest.File{SHA256: proxy}
		}
		return m
	}
	h := &host{}
	if h.settleReporting(with("one", "group")) {
		t.Error("got a restart for the settings of the start")
	}
	h.settled = true
	for name, tc := range map[string]struct {
		to   manifest.Manifest
		anew bool
	}{
		"the same":      {with("one", "group"), false},
		"another proxy": {with("two", "group"), true},
		"no proxy":      {with("", "group"), true},
		"another group": {with("one", "other"), true},
	} {
		if got := h.settleReporting(tc.to); got != tc.anew {
			t.Errorf("%s: got a restart: %t, want %t", name, got, tc.anew)
		}
	}
}
