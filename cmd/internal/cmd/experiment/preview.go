package experiment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/internal/document"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/experiment/config"
	"github.com/det-deploy/det-deploy/master/experiment/preview"
	"github.com/det-deploy/det-deploy/master/experiment/search"
)

type previewOptions struct {
	command.Remote

	Overrides                   []string
	Simulate                    string
	AskCluster                  bool
	HoursPerUnit, HoursPerTrial float64
	Price                       float64
	First                       int
}

func newPreview(s *term.Streams) *cobra.Command {
	o := &previewOptions{}
	c := command.New(s, o, runPreview, &cobra.Command{
		Use:   "preview FILE",
		Short: "Preview the trials, resources and cost of an experiment",
		Long: `Preview an experiment without a cluster: the number of trials and their lengths, the
hyperparameters of the first trials, and the slots used concurrently. If the duration
of a trial is given, per unit of the time metric or in total, the slot-hours and their
cost are included, at --price or, with --ask-cluster, at the pool's slot_price.

--simulate runs the search on recorded curves: a CSV file with a header and the columns
trial, the time metric and the metric. It shows the trials that would be stopped.`,
		Example: `  det-deploy experiment preview search.yaml
  det-deploy experiment preview search.yaml --override searcher.max_trials=64 --hours-per-unit 0.1
  det-deploy experiment preview search.yaml --simulate curves.csv --output json`,
	})
	f := c.Flags()
	addOverrides(c, &o.Overrides, "file")
	f.StringVar(&o.Simulate, "simulate", "", "CSV file with recorded curves to simulate")
	f.BoolVar(&o.AskCluster, "ask-cluster", false, "query the cluster for the resource pool's capacity and price")
	f.Float64Var(&o.HoursPerUnit, "hours-per-unit", 0, "hours per unit of the time metric for a trial")
	f.Float64Var(&o.HoursPerTrial, "hours-per-trial", 0, "hours per trial that is not stopped early")
	f.Float64Var(&o.Price, "price", 0, "price of a slot in USD per hour (default the pool's slot_price, with --ask-cluster)")
	f.IntVar(&o.First, "first", 5, "number of trials to show with their hyperparameters")
	return c
}

// Validate returns an error for a negative number.
func (o *previewOptions) Validate() error {
	for flag, x := range map[string]float64{
		"hours-per-unit": o.HoursPerUnit, "hours-per-trial": o.HoursPerTrial, "price": o.Price, "first": float64(o.First),
	} {
		if !(x >= 0) {
			return usage.Errorf("--%s %v: must be 0 or more", flag, x)
		}
	}
	return nil
}

// previewed is the JSON output of preview.
type previewed struct {
	Preview    preview.Preview    `json:"preview"`
	Simulation *search.Simulation `json:"simulation,omitempty"`
	// Warnings lists the settings that have no effect.
	Warnings []string `json:"warnings,omitempty"`
}

func runPreview(ctx context.Context, o *previewOptions) error {
	x, warnings, err := o.readConfiguration()
	if err != nil {
		return err
	}
	known := preview.Known{HoursPerUnit: o.HoursPerUnit, HoursPerTrial: o.HoursPerTrial, First: o.First}
	if o.AskCluster {
		pool, err := o.askPool(ctx, x)
		if err != nil {
			return err
		}
		known.Pool, known.Price = describePool(pool), priceOf(pool)
	}
	if o.Given("price") {
		known.Price = preview.Price{Currency: "USD", Expected: o.Price, AtMost: o.Price}
	}
	answer := previewed{}
	if answer.Preview, err = preview.Of(x, known); err != nil {
		return usage.Errorf("cannot preview %s: %w", o.Args[0], err)
	}
	for _, w := range warnings {
		answer.Warnings = append(answer.Warnings, w.String())
	}
	if o.Simulate != "" {
		if answer.Simulation, err = simulate(o.Simulate, x.Search()); err != nil {
			return err
		}
	}
	return o.PrintAnswer(answer, func() error { return o.printPreview(answer) })
}

// readConfiguration reads the file with the defaults of a cluster that sets none of its own. Settings that
// only running trials require may be missing.
func (o *previewOptions) readConfiguration() (config.Experiment, document.Errors, error) {
	raw, err := usage.ReadFile("the experiment's configuration", o.Args[0])
	if err != nil {
		return config.Experiment{}, nil, err
	}
	d, err := config.Parse(raw, o.Args[0], o.Overrides)
	if err != nil {
		return config.Experiment{}, nil, nameFlag(err)
	}
	x, warnings, err := config.Complete(config.Layers{Request: d, Unmanaged: true})
	return x, warnings, nameFlag(err)
}

// nameFlag replaces --config, the name of the flag in the API's clients, by --override in errors.
func nameFlag(err error) error {
	problems, ok := errors.AsType[document.Errors](err)
	if !ok {
		return usage.Check(err)
	}
	for i, p := range problems {
		problems[i].File = strings.Replace(p.File, "--config ", "--override ", 1)
	}
	return usage.Check(problems)
}

func simulate(path string, c search.Config) (*search.Simulation, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, usage.Errorf("cannot read the curves: %w", err)
	}
	curves, err := preview.ReadCurves(f, c)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, usage.Errorf("cannot read %s: %w", path, err)
	}
	s, err := c.Simulate(curves)
	return &s, err
}

// askPool returns the current state of the pool in which the experiment would run.
func (o *previewOptions) askPool(ctx context.Context, x config.Experiment) (*apiv1.ResourcePool, error) {
	master, err := o.DialMaster()
	if err != nil {
		return nil, err
	}
	defer master.Close()
	pools, err := master.Pools(ctx)
	if err != nil {
		return nil, err
	}
	return choosePool(pools, x)
}

func choosePool(pools []*apiv1.ResourcePool, x config.Experiment) (*apiv1.ResourcePool, error) {
	wanted := ""
	if p := x.Resources.ResourcePool; p != nil {
		wanted = *p
	}
	for _, p := range pools {
		if p.GetName() != wanted && (wanted != "" || !p.GetDefaultComputePool()) {
			continue
		}
		return p, nil
	}
	return nil, fmt.Errorf("resource pool %q does not exist on this cluster", wanted)
}

func describePool(p *apiv1.ResourcePool) *preview.Pool {
	return &preview.Pool{
		Name: p.GetName(), Slots: int(p.GetSlotsAvailable()), PerMachine: int(p.GetSlotsPerAgent()),
		MostSlots: int(max(p.GetSlotsAvailable(), p.GetMaxAgents()*p.GetSlotsPerAgent())),
	}
}

// priceOf returns the configured slot price of a pool. For a pool of spot machines, the maximum is the
// on-demand price because the pool may fall back to on-demand machines.
func priceOf(p *apiv1.ResourcePool) preview.Price {
	price := p.GetSlotPrice()
	out := preview.Price{Currency: price.GetCurrency(), Expected: price.GetPerHour(), AtMost: price.GetPerHour()}
	if p.GetPreemptible() && price != nil && price.SpotPerHour != nil {
		out.Expected, out.AtMost = price.GetSpotPerHour(), max(price.GetPerHour(), price.GetSpotPerHour())
	}
	return out
}
