package experiment

import (
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

// configuration is the data of the page of the configuration.
type configuration struct {
	head

	// Full is the configuration with defaults as YAML, and Original what was submitted; that is empty for other
	// users than the owner.
	Full, Original string
	Actions        []action
}

func serveConfiguration(v *ui.Visit) error {
	reply, err := read(v)
	if err != nil {
		return err
	}
	full, err := document.MarshalWithSecrets(reply.GetConfig().AsMap()) // the API has removed them
	if err != nil {
		return err
	}
	return v.Show(configPage, title(reply), configuration{
		head: newHead(reply, "/configuration"), Full: ui.PlainLines(string(full)), Original: ui.PlainLines(reply.GetExperiment().GetOriginalConfig()),
	})
}
