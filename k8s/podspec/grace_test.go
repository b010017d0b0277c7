package podspec_test

import (
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/k8s/podspec"
)

// A task must not delay the drain of a node for years.
func TestGracePeriodIsLimitedByPool(t *testing.T) {
	t.Parallel()
	const longer = `{"spec":{"terminationGracePeriodSeconds":99999999}}`
	probe := `{"spec":{"containers":[{"name":"determined-container","livenessProbe":{"exec":{"command":["false"]},"terminationGracePeriodSeconds":99999999}}]}}`
	for _, test := range []struct {
		name, pod, pool string
		most            time.Duration
		refused         string
		want            int64
	}{
		{"nothing said", `{}`, "", 0, "", 15},
		{"within the default", `{"spec":{"terminationGracePeriodSeconds":600}}`, "", 0, "", 600},
		{"above the default", longer, "", 0, "environment.pod_spec: spec.terminationGracePeriodSeconds: 99999999 s are more than the 600 s that a task may take to end; to allow it, an administrator sets task_policy.max_grace_period: 99999999", 600},
		{"above the pool's", `{"spec":{"terminationGracePeriodSeconds":61}}`, "", time.Minute, "61 s are more than the 60 s", 60},
		{"within the pool's", `{"spec":{"terminationGracePeriodSeconds":3600}}`, "", time.Hour, "", 3600},
		{"the time after a probe", probe, "", 0, "spec.containers[determined-container].livenessProbe.terminationGracePeriodSeconds: 99999999 s", 15},
		{"the cluster's own pod spec", `{}`, `{"spec":{"terminationGracePeriodSeconds":1800}}`, 0, "", 1800},
		{"less than the cluster's own", `{"spec":{"terminationGracePeriodSeconds":1200}}`, `{"spec":{"terminationGracePeriodSeconds":1800}}`, 0, "", 1200},
		{"more than the cluster's own", longer, `{"spec":{"terminationGracePeriodSeconds":1800}}`, 0, "more than the 1800 s", 1800},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := request(0, template())
			r.PodSpec, r.Template.CPUPodSpec, r.Template.MaxGrace = []byte(test.pod), []byte(test.pool), test.most
			err := podspec.Validate(r.Request, r.Template)
			if test.refused == "" && err != nil {
				t.Errorf("got %v, want no error", err)
			} else if test.refused != "" {
				refused(t, err, test.refused)
			}
			// A task submitted under another limit runs with the current limit.
			o, err := podspec.Build(r)
			if err != nil {
				t.Fatal(err)
			}
			s := o.Job.Spec.Template.Spec
			if got := *s.TerminationGracePeriodSeconds; got != test.want {
				t.Errorf("got %d s, want %d", got, test.want)
			}
			if p := s.Containers[0].LivenessProbe; p != nil && *p.TerminationGracePeriodSeconds != 600 {
				t.Errorf("got %d s after a probe, want 600", *p.TerminationGracePeriodSeconds)
			}
		})
	}
}
