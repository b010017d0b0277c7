package hosted

import (
	"strings"

	agentconfig "github.com/det-deploy/det-deploy/agent/config"
	"github.com/det-deploy/det-deploy/installer/doctor"
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config"
)

// CheckConfiguration reads what the master and the agents will run with as they will,
// before there is a machine on which they would refuse to start. Imagined stands for
// what the cloud has not named yet.
func (c *masterFile) CheckConfiguration(imagined Live, err error) doctor.Result {
	const needed = "settings with which the master and its agents start"
	var data []byte
	if err == nil {
		data, err = c.masterYAML(imagined)
	}
	if err != nil {
		return doctor.Failed(err.Error(), needed, "correct master_yaml in cluster.yaml, or the file of --master-config-file")
	}
	read, err := config.LoadGenerated(data, "master.yaml", nil)
	if err != nil {
		return doctor.FromError(err, needed)
	}
	var wrong []string
	for _, p := range c.inFragment(c.Refusals(read.Master)) {
		wrong = append(wrong, p.String())
	}
	wrong = append(wrong, c.checkAgentSettings()...)
	if len(wrong) > 0 {
		return doctor.Failed(strings.Join(wrong, "; "), needed, "correct master_yaml and agents.config in cluster.yaml, or the files of --master-config-file and --agent-config-file")
	}
	if given := config.GuardedMounts(read.Master); len(given) > 0 {
		return doctor.Unsure(c.inFragment(given).Error(), needed, "take these mounts out of master_yaml in cluster.yaml, or of the file of --master-config-file: every task would be refused")
	}
	return doctor.Passed("master.yaml and agent.yaml can be read")
}

// inFragment gives problems that the user's own settings caused their lines there.
func (c *masterFile) inFragment(problems document.Errors) document.Errors {
	const flag = "master-config-file"
	return config.LocateInFragment(c.Settings[flag], "--"+flag, problems)
}

// checkAgentSettings lists what is wrong with agents.config.
func (c *masterFile) checkAgentSettings() []string {
	raw := c.Agents.Config.JSON()
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
