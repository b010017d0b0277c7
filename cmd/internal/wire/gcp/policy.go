package gcp

import (
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/det-deploy/det-deploy/cloud/gcp/infra/identity"
)

// role is a custom role in the format of `gcloud iam roles create --file`.
type role struct {
	Title               string   `json:"title"`
	Description         string   `json:"description"`
	Stage               string   `json:"stage"`
	IncludedPermissions []string `json:"includedPermissions"`
}

// Role returns the custom role of the caller, the master or an agent, as YAML.
func Role(who string) (string, error) {
	r := role{Stage: "GA"}
	switch who {
	case "master":
		r.Title, r.Description = "det-deploy master", "Runs the master of a det-deploy cluster."
		r.IncludedPermissions = identity.MasterPermissions()
	case "agent":
		r.Title, r.Description = "det-deploy agent", "Runs the agents of a det-deploy cluster."
		r.IncludedPermissions = identity.AgentPermissions()
	default:
		r.Title, r.Description = "det-deploy installer", "Installs, changes and removes det-deploy clusters."
		r.IncludedPermissions = identity.InstallerPermissions()
	}
	text, err := yaml.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("cannot encode the role of the %s: %w", who, err)
	}
	return string(text), nil
}
