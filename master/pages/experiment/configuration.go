package experiment

import (
	"sigs.k8s.io/yaml"

	"github.com/det-deploy/det-deploy/master/pages/ui"
)

// configuration is the data of the page of the configuration.
type configuration struct {
	head

	// Full is the configuration with defaults as YAML, and Original what was submitted; that is empty for other
	// users than the owner.
	Full, Original string
}

func serveConfiguration(v *ui.Visit) error {
	reply, err := read(v)
	if err != nil {
		return err
	}
	full, err := yaml.Marshal(reply.GetConfig().AsMap()) // integers stay integers
	if err != nil {
		return err
	}
	return v.Show(configPage, title(reply), configuration{
		head: newHead(reply, "/configuration"), Full: ui.PlainLines(string(full)), Original: ui.PlainLines(reply.GetExperiment().GetOriginalConfig()),
	})
}
