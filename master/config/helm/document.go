// Package helm converts the values of the Helm chart to a master's configuration. The chart passes
// its values unchanged, in one document, and this package interprets them.
package helm

import (
	"errors"
	"fmt"
	"os"

	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config"
)

// Document is the document that the chart passes to the master.
type Document struct {
	Release Release `yaml:"release" doc:"Information from Helm"`
	Values  Values  `yaml:"values" doc:"The values, with the chart's defaults"`
}

// Release holds information that only Helm has.
type Release struct {
	Name       string `yaml:"name" doc:"Name of the release"`
	Namespace  string `yaml:"namespace" doc:"Its namespace"`
	AppVersion string `yaml:"appVersion" doc:"Version of the master"`
	Image      string `yaml:"image" doc:"Image of the master"`

	TaskNamespace string   `yaml:"taskNamespace" doc:"Namespace of tasks"`
	TaskAccount   string   `yaml:"taskAccount" doc:"ServiceAccount of tasks"`
	Protected     []string `yaml:"protected" doc:"Secrets, volume claims and priority classes that no task may use"`

	DeterminedPassword bool   `yaml:"determinedPassword" doc:"The init step made a password of determined"`
	CheckpointClaim    string `yaml:"checkpointClaim" doc:"Volume claim that the master makes for checkpoints of type shared_fs"`
	RefusesCheckpoints bool   `yaml:"refusesCheckpoints" doc:"The namespace of tasks lets no pod mount the directory of shared_fs"`
}

// Load reads the document in file and applies flags and environment variables. It returns all
// problems as document.Errors, under the names of the values.
func Load(file string, given []document.Given) (config.Loaded, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return config.Loaded{}, fmt.Errorf("read the values of the chart: %w", err)
	}
	return Read(data, file, given)
}

// Read is Load for data; name is used in messages.
func Read(data []byte, name string, given []document.Given) (config.Loaded, error) {
	doc, err := document.Parse(data, name)
	if err != nil {
		return config.Loaded{}, err
	}
	var d Document
	unread := asInFile(doc.Decode(&d))
	written, err := document.MarshalWithSecrets(Map(d))
	if err != nil {
		return config.Loaded{}, fmt.Errorf("write the configuration of %s: %w", name, err)
	}
	// The values are converted to a file first, so that the rules of master.yaml, flags and
	// environment variables apply in the same way.
	l, err := config.LoadGenerated(written, name, given)
	rules, ours := errors.AsType[document.Errors](err)
	if err != nil && !ours {
		return config.Loaded{}, err
	}
	l.Warnings = inValues(l.Warnings, name)
	problems := doc.Blame(unread, d.checkValues(name))
	return l, doc.Blame(problems, inValues(rules, name)).Err()
}

// Locate adds the names of the values to problems of a configuration that was mapped from values.
// It returns nil if there are no problems.
func Locate(l config.Loaded, problems document.Errors) error {
	return inValues(l.Document.Locate(problems), l.Document.Name()).Err()
}

// checkValues checks the values on which the mapping depends.
func (d Document) checkValues(name string) document.Errors {
	var e document.Errors
	e.Check(d.Release.Name != "", "release.name", "is required; the chart sets it")
	e.Check(d.Release.Namespace != "", "release.namespace", "is required; the chart sets it")
	v := d.Values
	e.Check(v.MaxSlotsPerPod != nil && *v.MaxSlotsPerPod > 0, "maxSlotsPerPod",
		"must be at least 1: the slots (GPUs) of one node, or the greatest common divisor of all nodes")
	refuse := func(refused bool, path, what string) {
		e.Check(!refused, path, "%s; remove it", what)
	}
	refuse(v.EnterpriseEdition, "enterpriseEdition", "the enterprise edition is not part of det-deploy")
	for path, part := range map[string]document.Raw{
		"oidc": v.OIDC, "scim": v.SCIM, "saml": v.SAML, "genai": v.GenAI, "fluent": v.Fluent,
	} {
		refuse(isGiven(part), path, path+" is not part of det-deploy")
	}
	refuse(isGiven(v.AdditionalResourceManagers), "additional_resource_managers", "more Kubernetes clusters under one master are not built yet")
	refuse(isGiven(v.ResourceManager.TaskGateway), "resourceManager.internalTaskGateway", "a gateway in front of tasks is not built yet")
	refuse(isGiven(v.Security.Token), "security.token", "access tokens are not built yet")
	for i := range e {
		e[i].File = name
	}
	return e
}
