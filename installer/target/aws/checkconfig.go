package aws

import (
	"context"
	"slices"
	"strings"

	agentconfig "github.com/det-deploy/det-deploy/agent/config"
	"github.com/det-deploy/det-deploy/installer/doctor"
	"github.com/det-deploy/det-deploy/master/config"
)

// configuration reads what the master and the agents will run with as they will,
// before there is a machine on which they would refuse to start.
func (c *checks) configuration(context.Context) doctor.Result {
	const needed = "settings with which the master and its agents start"
	data, err := c.masterYAML(c.imagined())
	if err != nil {
		return fail(err.Error(), needed, "correct master_yaml in cluster.yaml, or the file of --master-config-file")
	}
	read, err := config.LoadGenerated(data, "master.yaml", nil)
	if err != nil {
		return failed(err, needed)
	}
	var wrong []string
	for _, p := range config.Unbuilt(read.Master) {
		wrong = append(wrong, p.String())
	}
	wrong = append(wrong, c.agentSettings()...)
	if len(wrong) > 0 {
		return fail(strings.Join(wrong, "; "), needed, "correct master_yaml and agents.config in cluster.yaml, or the files of --master-config-file and --agent-config-file")
	}
	if given := config.GuardedMounts(read.Master); len(given) > 0 {
		return unsure(given.Error(), needed, "take these mounts out of master_yaml in cluster.yaml, or of the file of --master-config-file: every task would be refused")
	}
	return pass("master.yaml and agent.yaml can be read")
}

// imagined stands for what Amazon has not named yet.
func (t *Target) imagined() live {
	l := live{
		Subnets: make(map[string]string), AgentGroup: "sg-00000000000000000", Bucket: t.dataBucket(),
		Profile: "arn:aws:iam::" + t.Caller.Account + ":instance-profile/imagined",
	}
	for _, name := range slices.Concat(t.Known.Used(), existingSubnets(t.Spec)) {
		l.Subnets[name] = "subnet-00000000000000000"
	}
	return l
}

// agentSettings lists what is wrong with agents.config.
func (c *checks) agentSettings() []string {
	raw := c.Spec.Agents.Config.JSON()
	if raw == nil {
		return nil
	}
	var wrong []string
	a, own, err := agentconfig.ParseSent(raw, "agents.config")
	for _, key := range own {
		wrong = append(wrong, "agents.config."+key+": has no effect: an agent that was launched knows it from its master")
	}
	if err != nil {
		return append(wrong, err.Error())
	}
	for _, p := range agentconfig.Unbuilt(a) {
		wrong = append(wrong, "agents.config: "+p.String())
	}
	return wrong
}
