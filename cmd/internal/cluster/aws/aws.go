// Package aws is the commands for clusters on Amazon's cloud.
package aws

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	given "github.com/det-deploy/det-deploy/cmd/internal/config"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// New returns `det-deploy aws`.
func New(s *term.Streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "aws",
		Short: "Run a cluster on AWS",
		Long: `Run a cluster in an AWS account: a master on a machine of its own, and agents
that it launches when tasks wait and removes when they are idle. A cluster is
known by its id alone; credentials and region come from where the aws command
line finds them.`,
		Example: `  det-deploy aws up --cluster-id lab
  det-deploy aws status --cluster-id lab
  det-deploy aws down --cluster-id lab`,
	}
	c.AddCommand(
		newUp(s, runUp), newPlan(s, runPlan), newDoctor(s, runDoctor), newStatus(s, RunStatus), newList(s, runList),
		newUpgrade(s, RunUpgrade), newLogs(s, runLogs), newCredentials(s, runCredentials),
		newAdopt(s, runAdopt), newPolicy(s, runPolicy), newDown(s, RunDown),
	)
	return c
}

// Which is the cluster that a command is about.
type Which struct {
	Cluster string
	Region  string
	Profile string
	Verbose bool
}

func (w *Which) addFlags(f *pflag.FlagSet) {
	w.addFlagsButRegion(f)
	f.StringVar(&w.Region, "region", "", "AWS region (default where the cluster is)")
}

// addFlagsButRegion is for commands whose --region is a setting of the cluster.
func (w *Which) addFlagsButRegion(f *pflag.FlagSet) {
	f.StringVar(&w.Cluster, "cluster-id", "", "cluster ID")
	f.StringVar(&w.Profile, "profile", "", "profile of the AWS configuration to use")
	f.BoolVarP(&w.Verbose, "verbose", "v", false, "show every call to AWS")
}

func (w *Which) validate() error {
	if w.Cluster == "" {
		return usage.Errorf("--cluster-id is missing: `det-deploy aws list --all-regions` shows what there is")
	}
	if !spec.ValidCluster(w.Cluster) {
		return usage.Errorf("--cluster-id: must be up to 31 lower-case letters, digits and inner dashes, a letter first (is %q)", w.Cluster)
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

// request asks wire for the cluster as it is remembered.
func (w *Which) request(s *term.Streams) wire.AWSRequest {
	return wire.AWSRequest{Cluster: w.Cluster, Region: w.Region, Profile: w.Profile, Log: w.log(s)}
}

func (w *Which) log(s *term.Streams) *slog.Logger {
	if !w.Verbose {
		return nil
	}
	return slog.New(slog.NewTextHandler(s.Err, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// absentError is a cluster that is not there.
type absentError struct{ cluster, region string }

func (e *absentError) Error() string {
	return fmt.Sprintf("there is no cluster %s in %s", e.cluster, e.region)
}

// Hint says where to look and what makes one.
func (e *absentError) Hint() string {
	return "`det-deploy aws list --all-regions` shows what there is; `det-deploy aws up --cluster-id " + e.cluster + "` makes it"
}

// wanted is what the flags and the file of a command say a cluster should be.
type wanted struct {
	Which

	File     string
	Binaries []string
	flags    *pflag.FlagSet
}

func (w *wanted) addFlags(f *pflag.FlagSet) {
	w.addFlagsButRegion(f)
	f.StringVar(&w.File, "config-file", "", "cluster.yaml of the cluster")
	f.StringArrayVar(&w.Binaries, "binary", nil, "det-deploy for another architecture, as amd64=PATH or arm64=PATH")
	given.Declare(f, spec.AWSOverrides())
	w.flags = f
}

// read collects what the user said.
func (w *wanted) read() (spec.Given, error) {
	flags, err := given.Given(w.flags, spec.AWSOverrides())
	if err != nil {
		return spec.Given{}, err
	}
	if f := w.flags.Lookup("region"); f != nil {
		if err := checkRegion(f.Value.String()); err != nil {
			return spec.Given{}, err
		}
	}
	if flags, err = spec.Contents(flags, os.ReadFile); err != nil {
		return spec.Given{}, usage.Check(err)
	}
	g := spec.Given{Flags: flags, FileName: w.File}
	if w.File == "" {
		return g, nil
	}
	if g.File, err = os.ReadFile(w.File); err != nil {
		return g, usage.Check(fmt.Errorf("read --config-file: %w", err))
	}
	if w.Cluster == "" {
		w.Cluster, err = spec.ClusterOf(g.File, w.File)
	}
	return g, err
}
