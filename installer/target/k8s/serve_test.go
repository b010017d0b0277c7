package k8s

import (
	"testing"

	"github.com/det-deploy/det-deploy/k8s/helm"
)

func TestARolledBackReleaseGoesPastAttemptsAtTheSameVersion(t *testing.T) {
	t.Parallel()
	was := helm.Info{Revision: 3, Status: helm.Deployed, AppVersion: "1.0.0"}
	for name, tc := range map[string]struct {
		past  []helm.Info
		want  int
		found bool
	}{
		"the one that is deployed":    {[]helm.Info{{Revision: 2, Status: helm.Superseded, AppVersion: "0.9.0"}, was}, 3, true},
		"an attempt that was killed":  {[]helm.Info{was, {Revision: 4, Status: helm.PendingUpgrade, AppVersion: "1.1.0"}}, 3, true},
		"an attempt that was applied": {[]helm.Info{{Revision: 3, Status: helm.Superseded, AppVersion: "1.0.0"}, {Revision: 4, Status: helm.Deployed, AppVersion: "1.1.0"}}, 3, true},
		"another failure between":     {[]helm.Info{was, {Revision: 4, Status: helm.Failed, AppVersion: "1.0.5"}}, 3, true},
		"an image of its own":         {[]helm.Info{{Revision: 5, Status: helm.Deployed, AppVersion: "1.1.0", Values: map[string]any{"image": map[string]any{"tag": "1.0.7"}}}}, 5, true},
		"nothing else":                {[]helm.Info{{Revision: 1, Status: helm.Deployed, AppVersion: "1.1.0"}}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, found := before(tc.past, "1.1.0"); got != tc.want || found != tc.found {
				t.Errorf("got revision %d, found %t; want %d, %t", got, found, tc.want, tc.found)
			}
		})
	}
}
