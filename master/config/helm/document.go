// Package helm reads the values of the Helm chart as a master's configuration: the
// chart hands them over as they are, in one document, and what they mean is
// decided here. It is a leaf.
package helm

import (
	"errors"
	"fmt"
	"os"

	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config"
)

// Document is what the chart hands over.
type Document struct {
	Release Release `yaml:"release" doc:"What only Helm knows"`
	Values  Values  `yaml:"values" doc:"The values, with the chart's defaults"`
}

// Release is what only Helm knows.
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

// Load reads the document in file, with what was given by flag and environment
// over it. The error is document.Errors, with every complaint under the name of
// its value.
func Load(file string, given []document.Given) (config.Loaded, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return config.Loaded{}, fmt.Errorf("read the values of the chart: %w", err)
	}
	return Read(data, file, given)
}

// Read is Load of what was read; name is used in messages.
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
	// Through the form of a file, so that these values keep the rules of any other
	// master.yaml, and flags and variables go over them in the same way.
	l, err := config.LoadGenerated(written, name, given)
	rules, ours := errors.AsType[document.Errors](err)
	if err != nil && !ours {
		return config.Loaded{}, err
	}
	l.Warnings = inValues(l.Warnings, name)
	problems := doc.Blame(unread, d.checkValues(name))
	return l, doc.Blame(problems, inValues(rules, name)).Err()
}

// Locate gives problems with the configuration that values were mapped to the names of the
// values. It is nil when there are none.
func Locate(l config.Loaded, problems document.Errors) error {
	return inValues(l.Document.Locate(problems), l.Document.Name()).Err()
}

// checkValues checks what the mapping itself depends on.
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
	refuse(isGiven(v.Security.Token), "security.token", "access tokens are not built yet")
	for i := range e {
		e[i].File = name
	}
	return e
}
