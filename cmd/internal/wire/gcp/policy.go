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
		r.Title, r.Description = "det-deploy master", "What the master of a det-deploy cluster does in its project."
		r.IncludedPermissions = identity.MasterPermissions()
	case "agent":
		r.Title, r.Description = "det-deploy agent", "What agents of a det-deploy cluster do in their project."
		r.IncludedPermissions = identity.AgentPermissions()
	default:
		r.Title, r.Description = "det-deploy installer", "What installing, changing and removing det-deploy clusters takes."
		r.IncludedPermissions = identity.InstallerPermissions()
	}
	text, err := yaml.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("write the role of the %s: %w", who, err)
	}
	return string(text), nil
}
