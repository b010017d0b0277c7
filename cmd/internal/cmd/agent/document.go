package agent

import (
	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/agent/config"
	given "github.com/det-deploy/det-deploy/cmd/internal/config"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/internal/document"
)

// configFile is which agent.yaml a command works with, and what flags and
// variables put over it.
type configFile struct {
	File string
	// files are where it is looked for.
	files []string
	flags *pflag.FlagSet
}

func (c *configFile) addFlags(f *pflag.FlagSet) {
	f.StringVar(&c.File, "config-file", "", "agent.yaml to read (DET_CONFIG_FILE)")
	given.Declare(f, config.Overrides())
	c.flags = f
}

// loadConfig reads, checks and warns.
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

// listUnbuilt is what of a valid configuration cannot be carried out yet.
func listUnbuilt(l config.Loaded) error {
	return l.Document.Locate(document.Errors(config.Unbuilt(l.Agent))).Err()
}
