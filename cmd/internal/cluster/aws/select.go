package aws

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/cluster/hosted"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	awswire "github.com/det-deploy/det-deploy/cmd/internal/wire/aws"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// wanted is the cluster that a command is about, and what its flags say of it.
type wanted struct {
	*term.Streams
	hosted.Flags

	Region, Profile string
	AllRegions      bool
	hosted.LogQuery
}

// AddFlags declares the flags of a verb.
func (w *wanted) AddFlags(v cluster.Verb, f *pflag.FlagSet) {
	f.StringVar(&w.Profile, "profile", "", "profile of the AWS configuration to use")
	if v == cluster.List {
		f.StringVar(&w.Region, "region", "", "AWS region (default the environment's)")
		f.BoolVar(&w.AllRegions, "all-regions", false, "list clusters of all regions")
		return
	}
	w.Flags.AddFlags(v, f, spec.AWSFlags())
	f.BoolVarP(&w.Verbose, "verbose", "v", false, "show every call to AWS")
	if !w.Describes(v) { // there it is a setting of the cluster
		f.StringVar(&w.Region, "region", "", "AWS region (default where the cluster is)")
	}
	if v == cluster.Logs {
		w.AddLogFlags(f)
	}
}

// Validate checks the flags before anything is tried.
func (w *wanted) Validate(r cluster.Request) error {
	switch {
	case w.Describes(r.Verb):
		return nil // what is missing is asked for
	case r.Verb == cluster.List && w.AllRegions && w.Region != "":
		return usage.Errorf("--all-regions and --region exclude each other")
	case r.Verb == cluster.List:
		return checkRegion(w.Region)
	case r.Verb == cluster.Logs:
		if err := w.ReadLogArgs(r.Args); err != nil {
			return err
		}
	}
	return w.validate()
}

func (w *wanted) validate() error {
	if err := w.CheckID(name); err != nil {
		return err
	}
	return checkRegion(w.Region)
}

// checkRegion refuses what no region is called, before it becomes part of a host's name.
func checkRegion(region string) error {
	if region == "" || spec.ValidRegion(region) {
		return nil
	}
	return usage.Errorf("--region: must be an AWS region such as us-west-2 (is %q)", region)
}

// readGiven collects what the user said.
func (w *wanted) readGiven() (spec.Given, error) {
	if err := checkRegion(w.Set.Lookup("region").Value.String()); err != nil {
		return spec.Given{}, err
	}
	return w.Read()
}

// buildRequest asks wire for a cluster that is to be what is given, or is as it is
// remembered.
func (w *wanted) buildRequest(r cluster.Request, given *spec.Given) awswire.Request {
	return awswire.Request{HostedRequest: w.Request(w.Streams, r, given), Region: w.Region, Profile: w.Profile}
}

// Open prepares the cluster: as the user wants it for a verb that describes it, and else
// as it is remembered.
func (w *wanted) Open(ctx context.Context, r cluster.Request) (cluster.Cluster, error) {
	c, _, err := w.openCluster(ctx, r)
	return c, err
}

func (w *wanted) openCluster(ctx context.Context, r cluster.Request) (*hosted.Cluster, *awswire.Opened, error) {
	var given *spec.Given
	if w.Describes(r.Verb) {
		g, err := w.readGiven()
		if err != nil {
			return nil, nil, err
		}
		c := w.newCompletion(&g)
		if err := c.Complete(ctx, c.buildForm(), r.Verb == cluster.Up && !r.Yes); err != nil {
			return nil, nil, err
		}
		given = &g
	}
	a, err := awswire.Open(ctx, w.Streams, w.buildRequest(r, given))
	if err != nil {
		return nil, nil, err
	}
	c := &hosted.Cluster{Cloud: a, Streams: w.Streams, Platform: name, Awaited: !w.NoWait, Console: consoleIn(a.Place())}
	return c, a, c.Need(ctx, r.Verb)
}

// List lists the clusters of the account.
func (w *wanted) List(ctx context.Context) (cluster.Listing, error) {
	region := w.Region
	if region == "" && !w.AllRegions {
		var err error
		if region, err = awswire.DefaultRegion(ctx, w.Profile); err != nil {
			return cluster.Listing{}, err
		}
	}
	all, err := awswire.List(ctx, region, w.Profile)
	return hosted.List(name, region, all), err
}

// Logs shows what the machines write.
func (w *wanted) Logs(ctx context.Context, r cluster.Request) error {
	_, a, err := w.openCluster(ctx, r)
	if err != nil {
		return err
	}
	return a.Logs(ctx, w.Query, func(l wire.MachineLog) { w.PrintLog(w.Streams, name, l) })
}

// consoleIn is the command that shows the console of a machine.
func consoleIn(region string) func(id string) string {
	return func(id string) string {
		return "aws ec2 get-console-output --latest --output text --region " + region + " --instance-id " + id
	}
}
