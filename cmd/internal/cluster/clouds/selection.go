package clouds

import (
	"context"
	"errors"

	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// Selection holds the cluster and flags of a single command.
type Selection struct {
	*term.Streams
	wire.CloudRequest
	cluster.Settings
	LogQuery

	// File is the path of the cluster.yaml.
	File     string
	Verbose  bool
	Words    Words
	Provider Provider
}

var _ cluster.Selection = (*Selection)(nil)

// NewSelection returns a Selection for a command.
func NewSelection(s *term.Streams, p Provider) *Selection {
	return &Selection{Streams: s, Provider: p, Words: p.Words()}
}

// AddFlags declares the flags of a verb.
func (w *Selection) AddFlags(v cluster.Verb, f *pflag.FlagSet) {
	defer usage.SetWords(f, "region", w.Words.Regions)
	w.Provider.AddFlags(v, f)
	if v == cluster.List {
		f.StringVar(&w.Region, "region", "", "region (default "+w.Words.ListRegion+")")
		return
	}
	w.addSettings(v, f)
	f.BoolVarP(&w.Verbose, "verbose", "v", false, "show every call to "+w.Words.On)
	if !v.Describes() { // for the others, region is a setting of the cluster
		f.StringVar(&w.Region, "region", "", "region (default the cluster's)")
	}
	if v == cluster.Logs {
		w.AddLogFlags(f)
	}
}

// Validate checks the flags before any call is made.
func (w *Selection) Validate(r cluster.Request) error {
	if r.Verb.Describes() {
		return nil // the form asks for missing settings
	}
	if r.Verb == cluster.Logs {
		if err := w.ReadLogArgs(r.Args); err != nil {
			return err
		}
	}
	if r.Verb != cluster.List {
		if err := w.CheckID(); err != nil {
			return err
		}
	}
	return w.Provider.Check(w.Region)
}

// request returns the request to open a cluster with the given settings, or as it is recorded if given is
// nil.
func (w *Selection) request(r cluster.Request, given *spec.Given) wire.CloudRequest {
	q := w.CloudRequest
	q.Given, q.Bring = given, given != nil || r.Verb == cluster.Upgrade
	q.Sink, q.Log = r.Sink, cluster.CallLog(w.Streams, w.Verbose)
	return q
}

// readGiven validates and collects the given settings.
func (w *Selection) readGiven() (spec.Given, error) {
	if err := w.Provider.Check(w.Set.Lookup("region").Value.String()); err != nil {
		return spec.Given{}, err
	}
	return w.Read()
}

// Open opens the cluster: with the requested settings for a verb that describes a cluster, and as it is
// recorded for others.
func (w *Selection) Open(ctx context.Context, r cluster.Request) (cluster.Cluster, error) {
	return w.openCluster(ctx, r)
}

func (w *Selection) openCluster(ctx context.Context, r cluster.Request) (*Cluster, error) {
	var given *spec.Given
	if r.Verb.Describes() {
		g, err := w.readGiven()
		if err != nil {
			return nil, err
		}
		given = &g
	}
	c, err := w.openGiven(ctx, r, given)
	if x, explains := w.Provider.(Explainer); explains && given != nil && err != nil {
		return nil, x.Explain(ctx, w.request(r, given), err)
	}
	return c, err
}

// openGiven opens the cluster with the given settings, or as it is recorded if given is nil. Verbs that take
// the beginning of an ID open the only cluster that has it.
func (w *Selection) openGiven(ctx context.Context, r cluster.Request, given *spec.Given) (*Cluster, error) {
	c, err := w.openWhole(ctx, r, given)
	absent, isAbsent := errors.AsType[*cluster.AbsentError](err)
	if !isAbsent || !r.Verb.TakesBeginning() {
		return c, err
	}
	found, one, many := cluster.Beginning(w.Cluster, absent.Have)
	switch {
	case many != nil:
		return nil, many
	case !one:
		return nil, err
	}
	w.Cluster = found.ID
	return w.openWhole(ctx, r, given)
}

func (w *Selection) openWhole(ctx context.Context, r cluster.Request, given *spec.Given) (*Cluster, error) {
	if given != nil {
		if err := w.prepareCloud(ctx, r, w.request(r, given)); err != nil {
			return nil, err
		}
		if err := NewCompletion(w, given).Complete(ctx, r); err != nil {
			return nil, err
		}
	}
	a, err := w.Provider.Open(ctx, w.Streams, w.request(r, given))
	if err != nil {
		return nil, err
	}
	c := &Cluster{CloudCluster: a, Streams: w.Streams, Words: w.Words, Awaited: !w.NoWait, provider: w.Provider}
	return c, c.Need(ctx, r.Verb)
}

// prepareCloud makes, with the user's consent, the changes in the account that a cluster requires. Without
// consent it does nothing, and the following calls report the missing requirement.
func (w *Selection) prepareCloud(ctx context.Context, r cluster.Request, q wire.CloudRequest) error {
	p, needed := w.Provider.(Preparer)
	if !needed || r.Verb != cluster.Up || r.DryRun {
		return nil
	}
	question, apply, err := p.Prepare(ctx, q)
	if err != nil || question == "" {
		return err
	}
	agreed, err := w.Agreed(ctx, r.Yes, question)
	if err != nil || !agreed {
		return err
	}
	return apply(ctx)
}

// List lists the clusters of the account.
func (w *Selection) List(ctx context.Context) (cluster.Listing, error) {
	all, place, err := w.Provider.List(ctx, w.Region)
	return list(w.Words, place, all), err
}

// Logs prints the logs of the cluster's machines.
func (w *Selection) Logs(ctx context.Context, r cluster.Request) error {
	c, err := w.openCluster(ctx, r)
	if err != nil {
		return err
	}
	return c.Logs(ctx, w.Query, func(l wire.MachineLog) { w.PrintLog(w.Streams, w.Words.Name, l) })
}
