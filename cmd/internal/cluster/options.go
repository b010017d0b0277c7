package cluster

import (
	"context"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/cmd/internal/config"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/installer/spec"
	"github.com/det-deploy/det-deploy/internal/document"
)

// selected is the options of a verb that changes nothing.
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

// changing is the options of a verb that changes a cluster.
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

// open prepares the cluster, and the prompt that shows what is done to it.
func (o *changing) open(ctx context.Context) (prompt, Cluster, error) {
	ask := newPrompt(o.Streams, o.Output, o.Yes)
	c, err := o.Open(ctx, Request{Verb: o.verb, Yes: o.Yes, DryRun: o.DryRun, Sink: ask.eventSink()})
	return ask, c, err
}

// Consent is the flags of every verb that changes a cluster.
type Consent struct {
	DryRun bool
	Yes    bool
}

// AddConsent declares them.
func (c *Consent) AddConsent(f *pflag.FlagSet) {
	f.BoolVar(&c.DryRun, "dry-run", false, "print the plan and stop")
	f.BoolVarP(&c.Yes, "yes", "y", false, "skip the confirmation")
}

// CheckConsent refuses --yes beside --dry-run.
func (c *Consent) CheckConsent() error {
	if c.DryRun && c.Yes {
		return usage.Errorf("--dry-run and --yes exclude each other: a dry run asks nothing")
	}
	return nil
}

// Settings are the flags and variables of a verb that describe a cluster.
type Settings struct {
	// Set is the flags as they were declared.
	Set *pflag.FlagSet

	table spec.Table
}

// Declare adds the flags of a table.
func (s *Settings) Declare(f *pflag.FlagSet, table spec.Table) {
	s.Set, s.table = f, table
	config.Declare(f, table.Overrides())
}

// ReadSettings returns what was given, with the content of files that were named. Nothing
// is given where no flag was declared.
func (s *Settings) ReadSettings() ([]document.Given, error) {
	given, err := config.Given(s.Set, s.table.Overrides())
	if err != nil {
		return nil, err
	}
	given, err = s.table.ReadFiles(given, os.ReadFile)
	return given, usage.Check(err)
}

// Arguments are the flags that give settings, of which a secret's says only where it is.
// What was given by variable is given by it again.
func (s *Settings) Arguments(given []document.Given) []string {
	var args []string
	for _, g := range given {
		switch flag, _ := s.table.Find(g.Path); {
		case !strings.HasPrefix(g.Source, "--"):
		case flag.Bool:
			args = append(args, g.Source+"="+g.Value)
		case flag.FromFile && s.Set != nil: // what is given is what was in it
			args = append(args, g.Source, s.Set.Lookup(flag.Flag).Value.String())
		default:
			args = append(args, g.Source, g.Value)
		}
	}
	return args
}
