package podspec_test

import (
	"testing"

	"github.com/det-deploy/det-deploy/k8s/podspec"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/policy"
)

// The cluster's pod spec for checkpoint deletion counts as the cluster's, regardless of the
// experiment's owner; the same spec in another task counts as its owner's.
func TestThePodSpecOfCheckpointDeletionIsTheClusters(t *testing.T) {
	t.Parallel()
	const spec = `{"spec": {"volumes": [{"name": "all", "hostPath": {"path": "/srv/checkpoints"}}]}}`
	given := template()
	given.CheckpointGCPodSpec = []byte(spec)
	for name, c := range map[string]struct {
		template podspec.Template
		job      apiv1.Job_Type
		spec     string
		want     bool
	}{
		"a deletion":                         {given, apiv1.Job_TYPE_CHECKPOINT_GC, spec, true},
		"a deletion, written otherwise":      {given, apiv1.Job_TYPE_CHECKPOINT_GC, "{\"spec\":" + spec[len(`{"spec": `):], true},
		"a deletion with the owner's":        {given, apiv1.Job_TYPE_CHECKPOINT_GC, `{"spec": {"volumes": [{"name": "all", "hostPath": {"path": "/"}}]}}`, false},
		"a cluster that says nothing of it":  {template(), apiv1.Job_TYPE_CHECKPOINT_GC, spec, false},
		"a command that says the same words": {given, apiv1.Job_TYPE_COMMAND, spec, false},
	} {
		r := request(0, c.template)
		r.PodSpec, r.JobType, r.Policy = []byte(c.spec), c.job, policy.Policy{}.API()
		if err := podspec.Validate(r.Request, c.template); (err == nil) != c.want {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
