package agent

import (
	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/agent/config"
	given "github.com/det-deploy/det-deploy/cmd/internal/config"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/internal/document"
)

// configFile selects the agent.yaml of a command and the flags and variables that override it.
type configFile struct {
	File string
	// files are the candidate paths of the file.
	files []string
	flags *pflag.FlagSet
}

func (c *configFile) addFlags(f *pflag.FlagSet) {
	f.StringVar(&c.File, "config-file", "", "agent.yaml to read (DET_CONFIG_FILE)")
	given.Declare(f, config.Overrides())
	c.flags = f
}

// loadConfig reads and validates the configuration and prints its warnings.
func (c *configFile) loadConfig(s *term.Streams) (config.Loaded, error) {
	overrides, err := given.Given(c.flags, config.Overrides())
	if err != nil {
		return config.Loaded{}, err
	}
	c.files = given.Files(c.File, s.Getenv)
	l, err := config.LoadDocument(c.files, overrides)
	if err != nil {
		return l, err
	}
	for _, w := range l.Warnings {
		s.Notef("warning: %s", w)
	}
	return l, nil
}

// listUnbuilt returns an error for each unsupported feature in a valid configuration.
func listUnbuilt(l config.Loaded) error {
	return l.Document.Locate(document.Errors(config.Unbuilt(l.Agent))).Err()
}
