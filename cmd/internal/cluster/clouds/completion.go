package clouds

import (
	"context"
	"slices"

	"al.essio.dev/pkg/shellescape"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	"github.com/det-deploy/det-deploy/installer/spec"
	"github.com/det-deploy/det-deploy/internal/document"
)

// The keys of the form's pages. Those of settings are the settings' paths.
const (
	PageRegion  = "region"
	PageInbound = "network.inbound_cidrs"
	PageAgents  = "pools.*.max_agents"
	inboundFlag = "--inbound-cidr"
)

// Completion asks a person for what a new cluster needs and no flag or file says.
// Whatever is answered could have been given by a flag, and is shown as such.
type Completion struct {
	*Selection
	Questions

	Given *spec.Given
	// Known is true when the cluster has a record, which says the rest.
	Known bool
	// DryRun is true when nothing may be changed.
	DryRun bool

	form term.Form
	// address is this machine's own, as others see it; empty where it could not be learned.
	address string
	// settled is what Known was found for.
	settled settled
}

// Questions is what a cloud asks about a new cluster.
type Questions struct {
	// Places are the pages that say where the cluster is.
	Places []string
	// Locate is where it is, as far as is known with the answers.
	Locate func(ctx context.Context, a term.Answers) string
	// Advise prepares what helps with the questions about a cluster there.
	Advise func(ctx context.Context, a term.Answers) error
	// MachinePage is the page that says what the agents' machines are, and Machine what
	// they are.
	MachinePage string
	Machine     func(a term.Answers) string
	// Skip reports an answer that is no setting. It may be nil.
	Skip func(a term.Answer) bool
	// Account is the flags that say with which account the command works.
	Account []string
}

// NewCompletion completes what is given of a cluster.
func NewCompletion(w *Selection, g *spec.Given) *Completion {
	c := &Completion{Selection: w, Given: g}
	c.form = w.Provider.Ask(c)
	c.form.Summary, c.form.Lines = c.summarizeAnswers, c.Verbose
	return c
}

// Complete fills in what can be inferred, and asks by the form for the rest where up has
// not been agreed to and stdin is a terminal.
func (c *Completion) Complete(ctx context.Context, r cluster.Request) error {
	ask := r.Verb == cluster.Up && !r.Yes && c.CanAsk()
	c.DryRun = r.DryRun
	if c.Cluster != "" || !ask {
		if err := c.CheckID(); err != nil {
			return err
		}
	}
	if !ask {
		return c.completeAlone(ctx)
	}
	answers, err := c.FillForm(ctx, c.form)
	if err != nil {
		return err
	}
	c.applyAnswers(answers)
	return nil
}

// completeAlone fills in what can be inferred and does not ask.
func (c *Completion) completeAlone(ctx context.Context) error {
	known, err := c.findRecord(ctx, c.Cluster, *c.Given)
	if err != nil || known {
		return err
	}
	c.learnAddress(ctx)
	c.letIn() // without an address the rules of the setting name the flag
	return nil
}

// learnAddress asks, once, how this machine is seen: it alone may reach the master, unless
// the user says otherwise.
func (c *Completion) learnAddress(ctx context.Context) {
	if _, said := c.GivenValue(PageInbound); said || c.address != "" {
		return
	}
	if own, err := wire.OwnAddress(ctx, c.Streams); err == nil {
		c.address = own
	}
}

// letIn lets this machine's address reach the master.
func (c *Completion) letIn() {
	if c.address == "" {
		return
	}
	c.addFlag(PageInbound, inboundFlag, c.address)
	c.Notef("Only this machine's address, %s, can reach the master; %s admits others.", c.address, inboundFlag)
}

// applyAnswers keeps the answers as if their flags had been given.
func (c *Completion) applyAnswers(a term.Answers) {
	c.Cluster = c.ClusterID(a)
	for _, one := range a {
		if one.Key != cluster.IDPage && (c.Skip == nil || !c.Skip(one)) {
			c.addFlag(one.Key, one.Flag, one.Value)
		}
	}
	if c.Known {
		return
	}
	c.letIn()
	if len(a) > 0 {
		cluster.PrintEquivalent(c.Streams, c.CommandLine())
	}
}

func (c *Completion) addFlag(path, flag, value string) {
	c.Given.Flags = append(c.Given.Flags, document.Given{Path: path, Value: value, Source: flag})
}

// ClusterID is the cluster's ID as far as it is known.
func (c *Completion) ClusterID(a term.Answers) string {
	return cluster.AnsweredID(c.Cluster, a)
}

// GivenValue is what the user said of a setting by flag, variable or file.
func (c *Completion) GivenValue(path string) (value string, said bool) {
	value, said, _ = c.Given.Lookup(path) // the file's next reader has the better error
	return value, said
}

// HasPools reports whether the file describes pools of its own.
func (c *Completion) HasPools() bool {
	_, said := c.GivenValue("pools")
	return said
}

// CommandLine is the command line that gives what is given.
func (c *Completion) CommandLine() string {
	args := slices.Concat([]string{"det-deploy", c.Words.Name, "up", "--cluster-id", c.Cluster}, c.Account)
	if c.File != "" {
		args = append(args, "--config-file", c.File)
	}
	for _, b := range c.Binaries {
		args = append(args, "--binary", b)
	}
	return shellescape.QuoteCommand(append(args, c.Arguments(c.Given.Flags)...))
}

// summarizeAnswers says what the answers come to. Nothing is asked of the cloud for it.
func (c *Completion) summarizeAnswers(a term.Answers) []string {
	var out []string
	if id := c.ClusterID(a); id != "" {
		line := "Cluster " + id
		if region, ok := a.Get(PageRegion); ok {
			line += " in " + region
		}
		out = append(out, line)
	}
	if ranges, ok := a.Get(PageInbound); ok {
		out = append(out, "Its master is reached from "+ranges)
	}
	if _, ok := a.Get(c.MachinePage); !ok {
		return out
	}
	line := "Its agents are " + c.Machine(a)
	if n, ok := a.Get(PageAgents); ok {
		line += ", from 0 to " + n + " as tasks need them"
	}
	return append(out, line)
}
