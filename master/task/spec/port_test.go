package spec

import (
	"slices"
	"testing"

	"github.com/det-deploy/det-deploy/master/policy"
	"github.com/det-deploy/det-deploy/master/rm"
)

func TestTrialKnowsItsPorts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		numbers []int
		want    []string
	}{
		"on its machine's network": {[]int{12351, 12361, 12366, 29401}, []string{
			"DTRAIN_SSH_PORT=12351", "INTER_TRAIN_PROCESS_COMM_PORT_1=12361", "INTER_TRAIN_PROCESS_COMM_PORT_2=12366", "C10D_PORT=29401",
		}},
		"on its own": {nil, []string{
			"DTRAIN_SSH_PORT=12350", "INTER_TRAIN_PROCESS_COMM_PORT_1=12360", "INTER_TRAIN_PROCESS_COMM_PORT_2=12365", "C10D_PORT=29400",
		}},
	} {
		r := Run{Ports: NumberPorts(TrialPorts(), c.numbers)}
		r.Variables = []string{"FIRST=1"}
		env := Build(r, []rm.Container{{ID: "c"}})[0].GetEnvironment()
		i := slices.Index(env, c.want[0])
		if i < 0 || len(env) < i+4 || !slices.Equal(env[i:i+4], c.want) {
			t.Errorf("%s: got %q, want %q in it", name, env, c.want)
		}
	}
}

// Containers of a trial on several machines use the network of the machines, unless that is denied.
func TestSiblingsAreOnTheirMachinesNetwork(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		policy  policy.Policy
		allowed bool
	}{
		"the default policy":  {policy.Default(), true},
		"it is denied":        {policy.Policy{DeniesHostNetwork: true}, false},
		"of an administrator": {policy.Policy{Free: true}, true},
	} {
		r := Run{Policy: c.policy}
		r.HostNetwork = true
		for _, s := range Build(r, []rm.Container{{ID: "c"}, {ID: "d"}}) {
			err := policy.Check(policy.FromAPI(s.GetPolicy()), policy.OfSpec(s))
			if s.GetNetworkMode() != "host" || (err == nil) != c.allowed {
				t.Errorf("%s: got network %q and %v", name, s.GetNetworkMode(), err)
			}
		}
		if s := Build(r, []rm.Container{{ID: "c"}})[0]; s.GetNetworkMode() == "host" || s.GetPolicy().GetHostNetwork() {
			t.Errorf("%s: a container without siblings has the machine's network", name)
		}
	}
}
