package podspec_test

import (
	"testing"

	"github.com/det-deploy/det-deploy/k8s/podspec"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/policy"
)

// What the cluster says of pods that delete checkpoints is the cluster's, whoever owns the
// experiment; of any other task the same words are its owner's.
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
