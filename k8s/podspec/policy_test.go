package podspec_test

import (
	"testing"
)

func TestEachMistakeInThePodSpecsOfAPoolIsListedWithItsPath(t *testing.T) {
	t.Parallel()
	const cpu, gpu, gc = "task_container_defaults.cpu_pod_spec", "task_container_defaults.gpu_pod_spec", "task_container_defaults.checkpoint_gc_pod_spec"
	type mistake struct{ field, at, rule string }
	for name, tc := range map[string]struct {
		cpu, gpu, gc string
		want         []mistake
	}{
		"nothing":           {},
		"what is right":     {`{"spec":{"priorityClassName":"low"}}`, `{"metadata":{"labels":{"a":"b"}}}`, `{"spec":{"nodeSelector":{"a":"b"}}}`, nil},
		"an unknown field":  {`{"spec":{"tolerationss":[],"containers":[{"name":"x","imagee":"y"}]}}`, "", "", []mistake{{cpu, "spec.tolerationss", "unknown field"}, {cpu, "spec.containers[0].imagee", "unknown field"}}},
		"a field too high":  {"", `{"tolerations":[]}`, "", []mistake{{gpu, "tolerations", "is not a Pod of Kubernetes (apiVersion, kind, metadata, spec): unknown field"}}},
		"a text for a list": {"", `{"spec":{"tolerations":"all"}}`, "", []mistake{{gpu, "spec.tolerations", "must be a list, is text"}}},
		"a number for text": {"", "", `{"spec":{"nodeSelector":{"a":1}}}`, []mistake{{gc, "spec.nodeSelector", "must be text, is the number"}}},
		"no quantity":       {`{"spec":{"containers":[{"name":"x","resources":{"limits":{"memory":"4gigs"}}}]}}`, "", "", []mistake{{cpu, "", "a quantity of resources must be a number with a unit, such as 500m or 4Gi"}}},
		"a reserved field":  {"", "", `{"spec":{"nodeName":"x"}}`, []mistake{{gc, "spec.nodeName", "must not be set: it would pass by the scheduler; use nodeSelector"}}},
		"no pod at all":     {`[]`, "", "", []mistake{{cpu, "", "is not a Pod of Kubernetes (apiVersion, kind, metadata, spec): must be a mapping, is a list"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := template()
			r.CPUPodSpec, r.GPUPodSpec, r.CheckpointGCPodSpec = []byte(tc.cpu), []byte(tc.gpu), []byte(tc.gc)
			var got []mistake
			for _, one := range r.Check() {
				got = append(got, mistake{one.Field, one.At, one.Rule()})
			}
			if len(got) != len(tc.want) {
				t.Fatalf("got %q, want %q", got, tc.want)
			}
			for i := range got {
				if got[i] != tc.want[i] {
					t.Errorf("got %q, want %q", got[i], tc.want[i])
				}
			}
		})
	}
}
