package local

import (
	agentconfig "github.com/det-deploy/det-deploy/agent/config"
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config"
)

// compareMasters returns the differences between two master.yaml files. It returns none if one of them
// cannot be read.
func compareMasters(have, want []byte) []document.Difference {
	before, _, err := config.Parse(have, "master.yaml")
	if err != nil {
		return nil
	}
	after, _, err := config.Parse(want, "master.yaml")
	if err != nil {
		return nil
	}
	return config.Compare(before, after)
}

// compareAgents is like compareMasters for agent.yaml files.
func compareAgents(have, want []byte) []document.Difference {
	before, _, err := agentconfig.Parse(have, "agent.yaml")
	if err != nil {
		return nil
	}
	after, _, err := agentconfig.Parse(want, "agent.yaml")
	if err != nil {
		return nil
	}
	return document.Compare(before, after)
}
