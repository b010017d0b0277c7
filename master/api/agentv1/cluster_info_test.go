package agentv1_test

import (
	"testing"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

func TestClusterInfoIsTheEnvironmentOfATask(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env  []string
		want string
	}{
		"all of it": {
			[]string{
				"DET_MASTER=https://m:8443", "DET_CLUSTER_ID=c", "DET_AGENT_ID=a", "DET_SLOT_IDS=[0,3]", "DET_TASK_ID=t", "DET_ALLOCATION_ID=t.1",
				"DET_SESSION_TOKEN=secret", "DET_TASK_TYPE=COMMAND", "DET_MASTER_CERT_NAME=n", "DET_MASTER_CERT_FILE=/f", "OTHER=x",
			},
			`{"master_url":"https://m:8443","cluster_id":"c","agent_id":"a","slot_ids":[0,3],"task_id":"t","allocation_id":"t.1",` +
				`"session_token":"secret","task_type":"COMMAND","master_cert_name":"n","master_cert_file":"/f","latest_checkpoint":null}`,
		},
		"the last counts": {
			[]string{"DET_MASTER=http://a", "DET_MASTER=http://b", "DET_SLOT_IDS=none"},
			`{"master_url":"http://b","cluster_id":"","agent_id":"","slot_ids":[],"task_id":"","allocation_id":"",` +
				`"session_token":"","task_type":"","master_cert_name":null,"master_cert_file":null,"latest_checkpoint":null}`,
		},
	} {
		if got := string(agentv1.ClusterInfo(c.env)); got != c.want+"\n" {
			t.Errorf("%s: got %s\nwant %s", name, got, c.want)
		}
	}
}
