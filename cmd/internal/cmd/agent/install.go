package agent

import (
	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/agent/config"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/unit"
	"github.com/det-deploy/det-deploy/templates"
)

func newInstall(s *term.Streams) *cobra.Command { return unit.NewInstall(s, agentRole()) }

func newUninstall(s *term.Streams) *cobra.Command { return unit.NewUninstall(s, agentRole()) }

func agentRole() unit.Role {
	return unit.Role{Name: "agent", A: "an agent", ConfigFile: config.DefaultAgent().ConfigFile, Unit: agentUnit}
}

func agentUnit(file string, check bool) (unit.Unit, error) {
	cfg := config.DefaultAgent()
	if check {
		var err error
		if cfg, _, err = config.Load([]string{file}, nil); err != nil {
			return unit.Unit{}, err
		}
	}
	text, err := templates.AgentUnit{Binary: unit.Binary, ConfigFile: file}.Render()
	return unit.Unit{
		Name: "det-deploy-agent.service", Text: text, DataDir: cfg.DataDir,
		Sweep: []string{"agent", "sweep", "--config-file", file},
	}, err
}
