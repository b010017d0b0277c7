// Package cluster is the commands for a cluster wherever it runs: they find out by
// themselves on which platform that is, and do what the platform's own command
// does.
package cluster

import (
	"context"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
)

// The platforms of which clusters may be known.
const (
	onAWS   = "aws"
	onK8s   = "k8s"
	onLocal = "local"
)

// options is what every verb is asked.
type options struct {
	*term.Streams

	Cluster  string
	Platform string
	Output   term.Format
	verb     string
}

func (o *options) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.Cluster, "cluster-id", "", "cluster ID")
	f.StringVar(&o.Platform, "platform", "", "platform: aws, k8s or local (default from the known clusters)")
	f.String("region", "", "AWS region (default where the cluster is)")
	f.String("profile", "", "profile of the AWS configuration to use")
	f.String("kubeconfig", "", "kubeconfig file to use (default KUBECONFIG, then ~/.kube/config)")
	f.String("context", "", "context of the kubeconfig to use (DET_K8S_CONTEXT)")
	f.StringP("namespace", "n", "", "namespace of the cluster (DET_K8S_NAMESPACE)")
	o.Output.AddFlag(f)
}

func (o *options) addConsent(f *pflag.FlagSet) {
	f.Bool("dry-run", false, "print the plan and stop")
	f.BoolP("yes", "y", false, "skip the confirmation")
}

// run is what a verb does once it is known what is asked: find, and pass on.
func (o *options) run(c *cobra.Command) error {
	if o.Cluster == "" {
		return usage.Errorf("--cluster-id is missing: `det-deploy list` shows what is known here")
	}
	if o.Platform != "" {
		if err := platform(o.Platform); err != nil {
			return err
		}
	}
	found, err := o.find(c.Context())
	if err != nil {
		return err
	}
	args, err := o.passOn(c, found)
	if err != nil {
		return err
	}
	root := c.Root()
	root.SetArgs(args)
	return root.ExecuteContext(c.Context())
}

// known is a cluster that this machine knows of.
type known struct {
	Cluster  string `json:"cluster"`
	Platform string `json:"platform"`
	Region   string `json:"region,omitempty"`
	// Context and Namespace are where on Kubernetes it runs.
	Context   string `json:"context,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	// URL is where its master answered when it was last brought up from here.
	URL string `json:"url,omitempty"`
}

// find looks in the directory of local clusters and among the masters that are
// remembered, and asks where that does not tell.
func (o *options) find(ctx context.Context) (known, error) {
	all, err := remembered(o.Streams)
	if err != nil {
		return known{}, err
	}
	all = slices.DeleteFunc(all, func(k known) bool {
		return k.Cluster != o.Cluster || o.Platform != "" && k.Platform != o.Platform
	})
	switch {
	case len(all) == 1:
		return all[0], nil
	case len(all) > 1:
		return known{}, usage.Errorf("cluster %s is known on several platforms: say which with --platform", o.Cluster)
	case o.Platform != "":
		return known{Cluster: o.Cluster, Platform: o.Platform}, nil
	}
	where, err := o.Fill(ctx, term.Field{
		Label: "Platform", Help: "Cluster " + o.Cluster + " is not known on this machine. Where does it run?", Flag: "--platform",
		Choices: []term.Choice{{Value: onAWS, About: "Amazon's cloud"}, {Value: onK8s, About: "Kubernetes"}},
		Check:   func(_ context.Context, answer string) error { return platform(answer) },
	})
	return known{Cluster: o.Cluster, Platform: where}, err
}

// platform refuses what is none.
func platform(name string) error {
	if !slices.Contains([]string{onAWS, onK8s, onLocal}, name) {
		return usage.Errorf("--platform: must be aws, k8s or local (is %q)", name)
	}
	return nil
}

// remembered lists the clusters of which this machine knows.
func remembered(s *term.Streams) ([]known, error) {
	places, err := wire.LocalClusters(s)
	if err != nil {
		return nil, err
	}
	f, err := contexts.Default(s.Getenv)
	if err != nil {
		return nil, err
	}
	book, err := f.Load()
	if err != nil {
		return nil, err
	}
	all := []known{} // a list in JSON, and not null
	for _, id := range places {
		c, _ := book.Get(id)
		all = append(all, known{Cluster: id, Platform: onLocal, URL: c.Master})
	}
	for _, c := range book.Contexts {
		if c.Platform == onAWS || c.Platform == onK8s {
			all = append(all, known{c.Name, c.Platform, c.Region, c.KubeContext, c.Namespace, c.Master})
		}
	}
	return all, nil
}

// passOn is the command line of the platform's own command.
func (o *options) passOn(c *cobra.Command, k known) ([]string, error) {
	target, _, err := c.Root().Find([]string{k.Platform, o.verb})
	if err != nil {
		return nil, err
	}
	args := []string{k.Platform, o.verb, "--cluster-id", k.Cluster}
	for _, at := range [][2]string{{"region", k.Region}, {"context", k.Context}, {"namespace", k.Namespace}} {
		if f := c.Flags().Lookup(at[0]); at[1] != "" && !f.Changed {
			args = append(args, "--"+at[0], at[1])
		}
	}
	c.Flags().Visit(func(f *pflag.Flag) {
		switch {
		case f.Name == "cluster-id" || f.Name == "platform":
		case target.Flags().Lookup(f.Name) == nil:
			err = usage.Errorf("--%s means nothing to `%s`", f.Name, target.CommandPath())
		default:
			args = append(args, "--"+f.Name+"="+f.Value.String())
		}
	})
	return args, err
}
