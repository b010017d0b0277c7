package cluster

import (
	"context"
	"strings"

	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/cmd/internal/config"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/installer/spec"
	"github.com/det-deploy/det-deploy/internal/document"
)

// selected holds the options of a read-only verb.
type selected struct {
	*term.Streams
	Selection

	Output   term.Format
	platform Platform
	verb     Verb
}

func newSelected(s *term.Streams, p Platform, v Verb) selected {
	return selected{Streams: s, Selection: p.Select(s), platform: p, verb: v}
}

func (o *selected) addFlags(f *pflag.FlagSet) {
	o.AddFlags(o.verb, f)
	o.Output.AddFlag(f)
}

func (o *selected) validate([]string) error { return o.Validate(Request{Verb: o.verb}) }

// changing holds the options of a verb that changes a cluster.
type changing struct {
	selected
	Consent
}

func newChanging(s *term.Streams, p Platform, v Verb) changing {
	return changing{selected: newSelected(s, p, v)}
}

func (o *changing) addFlags(f *pflag.FlagSet) {
	o.selected.addFlags(f)
	o.AddConsent(f)
}

func (o *changing) validate([]string) error {
	if err := o.CheckConsent(); err != nil {
		return err
	}
	return o.Validate(Request{Verb: o.verb, Yes: o.Yes})
}

// open opens the cluster and returns the prompt for it.
func (o *changing) open(ctx context.Context) (prompt, Cluster, error) {
	ask := newPrompt(o.Streams, o.Output, o.Yes)
	c, err := o.Open(ctx, Request{Verb: o.verb, Yes: o.Yes, DryRun: o.DryRun, Sink: ask.eventSink()})
	return ask, c, err
}

// Consent holds the flags common to all verbs that change a cluster.
type Consent struct {
	DryRun bool
	Yes    bool
}

// AddConsent declares the flags.
func (c *Consent) AddConsent(f *pflag.FlagSet) {
	f.BoolVar(&c.DryRun, "dry-run", false, "show what would change, change nothing")
	f.BoolVarP(&c.Yes, "yes", "y", false, "skip the confirmation")
}

// CheckConsent returns an error if both --yes and --dry-run are given.
func (c *Consent) CheckConsent() error {
	if c.DryRun && c.Yes {
		return usage.Errorf("use either --dry-run or --yes")
	}
	return nil
}

// Settings holds the flags and variables that describe a cluster.
type Settings struct {
	// Set is the flag set that Declare was given.
	Set *pflag.FlagSet

	table spec.Table
}

// Declare adds the flags of a table.
func (s *Settings) Declare(f *pflag.FlagSet, table spec.Table) {
	s.Set, s.table = f, table
	config.Declare(f, table.Overrides())
}

// ReadSettings returns the given settings, with the contents of the files that they name. It returns none
// if no flag was declared.
func (s *Settings) ReadSettings() ([]document.Given, error) {
	given, err := config.Given(s.Set, s.table.Overrides())
	if err != nil {
		return nil, err
	}
	given, err = s.table.ReadFiles(given, usage.ReadFile)
	return given, usage.Check(err)
}

// Arguments returns the command-line flags of the given settings. For a secret, that is the path of its
// file. Settings given by variable are left out.
func (s *Settings) Arguments(given []document.Given) []string {
	var args []string
	for _, g := range given {
		switch flag, _ := s.table.Find(g.Path); {
		case !strings.HasPrefix(g.Source, "--"):
		case flag.Bool:
			args = append(args, g.Source+"="+g.Value)
		case flag.FromFile && s.Set != nil: // the value is the content of the file
			args = append(args, g.Source, s.Set.Lookup(flag.Flag).Value.String())
		default:
			args = append(args, g.Source, g.Value)
		}
	}
	return args
}
