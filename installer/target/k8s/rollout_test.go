package k8s

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
		"Determined's own":            {[]helm.Info{{Revision: 1, Status: helm.Superseded, AppVersion: "0.38.1", Foreign: true}, {Revision: 2, Status: helm.Deployed, AppVersion: "1.1.0"}}, 0, false},
		"nothing else":                {[]helm.Info{{Revision: 1, Status: helm.Deployed, AppVersion: "1.1.0"}}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, found := revisionBefore(tc.past, "1.1.0"); got != tc.want || found != tc.found {
				t.Errorf("got revision %d, found %t; want %d, %t", got, found, tc.want, tc.found)
			}
		})
	}
}

// A ReplicaSet of an earlier attempt proves nothing about this one, but a ReplicaSet with other
// values belongs to the same version.
func TestMasterAnsweredSinceUpdate(t *testing.T) {
	t.Parallel()
	at := func(seconds int) time.Time { return time.Unix(1_000_000+int64(seconds), 0) }
	past := []helm.Info{{AppVersion: "1.0.0", Updated: at(0)}, {AppVersion: "1.1.0", Updated: at(100)}, {AppVersion: "1.0.0", Updated: at(200)}, {AppVersion: "1.1.0", Updated: at(300)}, {AppVersion: "1.1.0", Updated: at(400)}}
	for name, tc := range map[string]struct {
		made        []int
		unavailable int
		want        bool
	}{
		"never":                            {[]int{301}, 302, false},
		"since it was made":                {[]int{301}, 390, true},
		"before other values":              {[]int{301, 401}, 402, true},
		"never, with other values":         {[]int{301, 401}, 302, false},
		"never, though it was made before": {[]int{101}, 302, false},
		"since, though it was made before": {[]int{101}, 390, true},
		"not made yet":                     {nil, 390, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &appsv1.Deployment{Status: appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{{
				Type: appsv1.DeploymentAvailable, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(at(tc.unavailable)),
			}}}}
			var sets []appsv1.ReplicaSet
			for _, made := range tc.made {
				sets = append(sets, appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(at(made))}})
			}
			if got := hasAnsweredSince(d, sets, begunAt(past, "1.1.0")); got != tc.want {
				t.Errorf("got %t, want %t", got, tc.want)
			}
		})
	}
}
