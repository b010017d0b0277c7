package master

import (
	"errors"

	"github.com/spf13/pflag"

	given "github.com/det-deploy/det-deploy/cmd/internal/config"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/config/helm"
)

// configFile selects the master.yaml or the Helm values of a command, and the flags and variables that
// override them.
type configFile struct {
	File   string
	Values string
	flags  *pflag.FlagSet
}

func (c *configFile) addFlags(f *pflag.FlagSet) {
	c.addDocumentFlags(f)
	given.Declare(f, config.Overrides())
}

func (c *configFile) addDocumentFlags(f *pflag.FlagSet) {
	f.StringVar(&c.File, "config-file", "", "master.yaml to read (DET_CONFIG_FILE)")
	f.StringVar(&c.Values, "from-helm-values", "", "file with Helm values to read instead, as written by the chart")
	c.flags = f
}

// addStateFlags declares the flags of a command that accesses the master's state without running a master.
// They only locate the state.
func (c *configFile) addStateFlags(f *pflag.FlagSet) {
	c.addDocumentFlags(f)
	given.Declare(f, config.StateOverrides())
}

// loadConfig reads and validates the configuration and prints its warnings.
func (c *configFile) loadConfig(s *term.Streams) (config.Loaded, error) {
	overrides, err := given.Given(c.flags, config.Overrides())
	if err != nil {
		return config.Loaded{}, err
	}
	l, err := c.read(s, overrides)
	if err != nil {
		return l, err
	}
	for _, w := range l.Warnings {
		s.Notef("warning: %s", w)
	}
	return l, nil
}

func (c *configFile) read(s *term.Streams, overrides []document.Given) (config.Loaded, error) {
	switch {
	case c.Values == "":
		return config.LoadDocument(given.Files(c.File, s.Getenv), overrides)
	case c.File != "":
		return config.Loaded{}, usage.Check(errors.New("use either --config-file or --from-helm-values"))
	default:
		return helm.Load(c.Values, overrides)
	}
}

// listRefusals returns the errors in a valid configuration that prevent a master from starting.
func (c *configFile) listRefusals(l config.Loaded) error {
	if c.Values != "" {
		return helm.Locate(l, wire.Refusals(l.Master))
	}
	return errors.Join(listUnfit(l), listUnbuilt(l))
}

// listUnfit returns the errors that the parts of a master report when it starts.
func listUnfit(l config.Loaded) error { return l.Document.Locate(wire.Problems(l.Master)).Err() }

// listUnbuilt returns an error for each unsupported feature.
func listUnbuilt(l config.Loaded) error {
	return l.Document.Locate(document.Errors(config.Unbuilt(l.Master))).Err()
}
