package clouds

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"al.essio.dev/pkg/shellescape"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	"github.com/det-deploy/det-deploy/installer/spec"
	"github.com/det-deploy/det-deploy/internal/document"
)

// The keys of the form's pages. The key of a setting is its path.
const (
	PageRegion  = "region"
	PageInbound = "network.inbound_cidrs"
	PageAgents  = "pools.*.max_agents"
	inboundFlag = "--inbound-cidr"
)

// Completion asks for the settings of a new cluster that no flag or file gives. Every answer has an
// equivalent flag, and the form ends by printing the equivalent command.
type Completion struct {
	*Selection
	Questions

	Given *spec.Given
	// Known is true if the cluster has a record; its settings are then not asked for.
	Known bool
	// DryRun is true if nothing may be changed.
	DryRun bool

	form term.Form
	// address is the public address of this machine, or empty if it is unknown.
	address string
	// settled holds the cluster and place for which Known was determined. Shown is the place in the summary.
	settled settled
	shown   atomic.Pointer[settled]
}

// Questions defines the questions about a new cluster in one cloud.
type Questions struct {
	// Places are the keys of the pages that ask for the cluster's location.
	Places []string
	// Locate returns the location of the cluster, as far as it is known from the answers.
	Locate func(ctx context.Context, a term.Answers) string
	// Advise fetches the choices and limits for a cluster at that location.
	Advise func(ctx context.Context, a term.Answers) error
	// MachinePage is the key of the page that asks for the agents' machine type.
	MachinePage string
	// New returns an empty description of a cluster.
	New func() PooledCluster
	// Skip reports whether an answer is not a setting. It may be nil.
	Skip func(a term.Answer) bool
	// Account holds the flags that select the account.
	Account []string
}

// PooledCluster is the description of a cluster with pools of machines.
type PooledCluster interface {
	spec.Cluster

	DescribePools() []string
}

// NewCompletion returns a Completion for the given settings.
func NewCompletion(w *Selection, g *spec.Given) *Completion {
	c := &Completion{Selection: w, Given: g}
	c.form = w.Provider.Ask(c)
	c.form.Summary, c.form.Lines = c.summarizeAnswers, c.Verbose
	return c
}

// Complete infers missing settings. It asks for the others if the verb is up without --yes and stdin is a
// terminal.
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

// completeAlone infers missing settings without asking.
func (c *Completion) completeAlone(ctx context.Context) error {
	known, err := c.findRecord(ctx, c.Cluster, *c.Given)
	if err != nil || known {
		return err
	}
	c.learnAddress(ctx)
	c.letIn() // if the address is unknown, validation of the setting names the flag
	return nil
}

// learnAddress determines, once, the public address of this machine. By default, only this address may
// reach the master.
func (c *Completion) learnAddress(ctx context.Context) {
	if _, said := c.GivenValue(PageInbound); said || c.address != "" {
		return
	}
	if own, err := wire.OwnAddress(ctx, c.Streams); err == nil {
		c.address = own
	}
}

// letIn allows connections to the master from the address of this machine.
func (c *Completion) letIn() {
	if c.address == "" {
		return
	}
	c.addFlag(PageInbound, inboundFlag, c.address)
	c.Notef("Only this machine's address, %s, can reach the master; use %s to allow others.", c.address, inboundFlag)
}

// applyAnswers stores the answers as if their flags had been given.
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

// ClusterID returns the given or answered cluster ID, or "".
func (c *Completion) ClusterID(a term.Answers) string {
	return cluster.AnsweredID(c.Cluster, a)
}

// GivenValue returns the value of a setting from its flag, variable or file.
func (c *Completion) GivenValue(path string) (value string, said bool) {
	value, said, _ = c.Given.Lookup(path) // an error in the file is reported with more detail when the file is read for the cluster
	return value, said
}

// HasPools reports whether the file defines resource pools.
func (c *Completion) HasPools() bool {
	_, said := c.GivenValue("pools")
	return said
}

// CommandLine returns the command line with the given settings.
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

// summarizeAnswers returns a summary of the answers. It makes no cloud calls.
func (c *Completion) summarizeAnswers(a term.Answers) []string {
	var out []string
	if id := c.ClusterID(a); id != "" {
		line := "Cluster " + id
		if place := c.shownPlace(id, a); place != "" {
			line += " in " + place
		}
		out = append(out, line)
	}
	if ranges, ok := a.Get(PageInbound); ok {
		out = append(out, "Its master is reachable from "+ranges)
	}
	_, typed := a.Get(c.MachinePage)
	if _, limited := a.Get(PageAgents); !typed && !limited {
		return out
	}
	for _, line := range c.describePools(a) {
		out = append(out, "P"+strings.TrimPrefix(line, "p"))
	}
	return out
}

// shownPlace returns the place of a cluster as far as it is known, such as "us-west-2" or
// "vision-lab/us-central1".
func (c *Completion) shownPlace(id string, a term.Answers) string {
	region, _ := a.Get(PageRegion)
	s := c.shown.Load()
	if s == nil || s.cluster != id {
		return region
	}
	at := strings.LastIndexByte(s.place, '/') + 1
	return strings.TrimSuffix(s.place[:at]+cmp.Or(region, s.place[at:]), "/")
}

// ShowPlace shows the place of the cluster in the summary, as Questions.Locate returns it.
func (c *Completion) ShowPlace(a term.Answers, place string) {
	c.shown.Store(&settled{c.ClusterID(a), place})
}

// describePools describes the pools of the cluster as its plan does.
func (c *Completion) describePools(a term.Answers) []string {
	given := *c.Given
	given.Flags = slices.Clone(given.Flags)
	for _, one := range a {
		if _, isSetting := c.Provider.Settings().Find(one.Key); isSetting {
			given.Flags = append(given.Flags, document.Given{Path: one.Key, Value: one.Value, Source: one.Flag})
		}
	}
	settings, err := c.Provider.Settings().Merge(c.New(), given, nil)
	if err != nil {
		return nil
	}
	planned := c.New()
	_ = c.Provider.Settings().Read(planned, c.ClusterID(a), settings) // some settings are not answered yet
	return planned.DescribePools()
}
