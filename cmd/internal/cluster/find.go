package cluster

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
)

// NewStatus returns `det-deploy status`.
func NewStatus(s *term.Streams, all ...Platform) *cobra.Command {
	return anywhere(s, Status, all, Help{
		Use: "status", Short: "Show cluster status",
		Example: `  det-deploy status --cluster-id lab
  det-deploy status --cluster-id lab --output json`,
	})
}

// NewUpgrade returns `det-deploy upgrade`.
func NewUpgrade(s *term.Streams, all ...Platform) *cobra.Command {
	return anywhere(s, Upgrade, all, Help{
		Use: "upgrade", Short: "Upgrade a cluster to this version",
		Long: `Upgrade a cluster to this version of det-deploy. Until the new master serves, a
failed upgrade is rolled back. For details, see the help of the platform's command:
det-deploy aws upgrade, gcp upgrade, k8s upgrade or local upgrade.`,
		Example: "  det-deploy upgrade --cluster-id lab",
	})
}

// NewDown returns `det-deploy down`.
func NewDown(s *term.Streams, all ...Platform) *cobra.Command {
	return anywhere(s, Down, all, Help{
		Use: "down", Short: "Remove a cluster",
		Long: `Remove a cluster from any platform. Its data and the keys to it are kept unless
--delete-data is given.`,
		Example: `  det-deploy down --cluster-id lab
  det-deploy down --cluster-id lab --delete-data --yes`,
	})
}

// anywhere returns the command of a verb that finds the cluster's platform itself.
func anywhere(s *term.Streams, v Verb, all []Platform, h Help) *cobra.Command {
	f := &finder{Streams: s, verb: v, platforms: all}
	c := &cobra.Command{
		Use: h.Use, Short: h.Short, Long: h.Long, Example: h.Example, Args: usage.Args(),
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c) },
	}
	f.addFlags(c.Flags())
	completeID(c, s, all...)
	// It fails only for an unknown or a completed flag.
	_ = c.RegisterFlagCompletionFunc("platform", cobra.FixedCompletions(names(all), cobra.ShellCompDirectiveNoFileComp))
	return c
}

// finder runs a verb on the platform of the cluster.
type finder struct {
	*term.Streams

	Cluster  string
	Platform string

	verb      Verb
	platforms []Platform
}

// addFlags declares the flags that all platforms share, and those that locate a cluster.
func (o *finder) addFlags(f *pflag.FlagSet) {
	names := strings.Join(names(o.platforms), ", ")
	if i := strings.LastIndex(names, ", "); i > 0 {
		names = names[:i] + " or" + names[i+1:]
	}
	AddID(f, &o.Cluster, "")
	f.StringVar(&o.Platform, "platform", "", "platform: "+names+" (default that of the known cluster)")
	count := map[string]int{}
	for _, p := range o.platforms {
		_, own := o.on(p)
		own.VisitAll(func(g *pflag.Flag) {
			count[g.Name]++
			if f.Lookup(g.Name) == nil && (count[g.Name] == len(o.platforms) || slices.Contains(p.Location(), g.Name)) {
				f.AddFlag(g)
			}
		})
	}
}

// on returns the verb for a platform, with its flags.
func (o *finder) on(p Platform) (options, *pflag.FlagSet) {
	v := allVerbs()[o.verb].make(o.Streams, p)
	f := pflag.NewFlagSet(p.Name(), pflag.ContinueOnError)
	v.addFlags(f)
	return v, f
}

func names(all []Platform) []string {
	out := make([]string, len(all))
	for i, p := range all {
		out[i] = p.Name()
	}
	return out
}

// run finds the cluster and runs the verb on its platform.
func (o *finder) run(c *cobra.Command) error {
	if o.Cluster == "" {
		return usage.Errorf("--cluster-id is missing: `det-deploy list` shows known clusters")
	}
	if o.Platform != "" {
		if err := o.checkPlatform(o.Platform); err != nil {
			return err
		}
	}
	k, err := o.find(c.Context())
	if err != nil {
		return err
	}
	p := o.platforms[slices.Index(names(o.platforms), k.Platform)]
	v, f := o.on(p)
	h, _ := p.Help(o.verb)
	if err := giveFlags(c.LocalNonPersistentFlags(), f, k, cmp.Or(h.Use, string(o.verb))); err != nil {
		return err
	}
	if err := v.validate(nil); err != nil {
		return err
	}
	return v.run(c.Context())
}

// giveFlags sets the flags of the platform's verb to the recorded location of the cluster, and then to the
// given flags.
func giveFlags(given, to *pflag.FlagSet, k known, verb string) error {
	for name, value := range map[string]string{"cluster-id": k.Cluster, "region": k.Region, "project": k.Project, "kube-context": k.Context, "namespace": k.Namespace} {
		if value == "" || to.Lookup(name) == nil {
			continue
		}
		if err := to.Set(name, value); err != nil {
			return usage.Check(err)
		}
	}
	var err error
	given.VisitAll(func(f *pflag.Flag) { // Visit finds no flags because the set is a copy
		switch {
		case err != nil || !f.Changed || f.Name == "cluster-id" || f.Name == "platform":
		case to.Lookup(f.Name) == nil:
			err = usage.Errorf("--%s is not a flag of `det-deploy %s %s`", f.Name, k.Platform, verb)
		default:
			err = usage.Check(to.Set(f.Name, f.Value.String()))
		}
	})
	return err
}

// find searches the directory of local clusters and the saved contexts. If neither identifies the
// platform, it asks.
func (o *finder) find(ctx context.Context) (known, error) {
	all, err := rememberedClusters(o.Streams, o.platforms)
	if err != nil {
		return known{}, err
	}
	found := o.named(all, o.Cluster)
	if len(found) == 0 && o.verb.TakesBeginning() {
		x, one, err := Beginning(o.Cluster, existing(all))
		if err != nil {
			return known{}, err
		}
		if one {
			found = o.named(all, x.ID)
		}
	}
	_, near := Near(o.Cluster, existing(all))
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return known{}, usage.Errorf("cluster %s is known on several platforms: choose one with --platform", found[0].Cluster)
	case o.Platform != "":
		return known{Cluster: o.Cluster, Platform: o.Platform}, nil
	case !o.CanAsk() || near:
		return known{}, unknown(o.Cluster, all)
	}
	return o.ask(ctx)
}

// named returns the clusters with an ID on the given platform, or on all.
func (o *finder) named(all []known, id string) []known {
	return slices.DeleteFunc(slices.Clone(all), func(k known) bool {
		return k.Cluster != id || o.Platform != "" && k.Platform != o.Platform
	})
}

// ask asks for the platform of an unknown cluster.
func (o *finder) ask(ctx context.Context) (known, error) {
	field := term.Field{
		Label: "Platform", Help: "Cluster " + o.Cluster + " is not known on this machine. Where does it run?", Flag: "--platform",
		Check: func(_ context.Context, answer string) error { return o.checkPlatform(answer) },
	}
	for _, p := range o.platforms {
		if p.About() != "" {
			field.Choices = append(field.Choices, term.Choice{Value: p.Name(), About: p.About()})
		}
	}
	where, err := o.Fill(ctx, field)
	return known{Cluster: o.Cluster, Platform: where}, err
}

// checkPlatform returns an error unless name is a platform.
func (o *finder) checkPlatform(name string) error {
	all := names(o.platforms)
	if slices.Contains(all, name) {
		return nil
	}
	last := len(all) - 1
	return usage.Errorf("--platform: must be %s or %s (is %q)", strings.Join(all[:last], ", "), all[last], name)
}

// known is a cluster found in the local records.
type known struct {
	Cluster  string `json:"cluster"`
	Platform string `json:"platform"`
	Region   string `json:"region,omitempty"`
	// Project is the cluster's Google project.
	Project string `json:"project,omitempty"`
	// Context and Namespace locate a cluster on Kubernetes.
	Context   string `json:"context,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	// URL is the master's address at the time of the last up.
	URL string `json:"url,omitempty"`
}

// placeName returns the region, preceded by the project if there is one, or the context and namespace on
// Kubernetes.
func (k known) placeName() string {
	if k.Context+k.Namespace != "" {
		return strings.Trim(k.Context+"/"+k.Namespace, "/")
	}
	return strings.Trim(k.Project+"/"+k.Region, "/")
}

// here is a platform whose clusters run on this machine.
type here interface {
	Clusters(s *term.Streams) ([]string, error)
}

// rememberedClusters lists the clusters in the local records, beginning with those that run on this
// machine.
func rememberedClusters(s *term.Streams, platforms []Platform) ([]known, error) {
	f, err := contexts.Default(s.Getenv)
	if err != nil {
		return nil, err
	}
	book, err := f.Load()
	if err != nil {
		return nil, err
	}
	all, elsewhere := []known{}, []string{} // not nil: an empty list is [] in JSON
	for _, p := range platforms {
		local, ok := p.(here)
		if !ok {
			elsewhere = append(elsewhere, p.Name())
			continue
		}
		ids, err := local.Clusters(s)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			c, _ := book.Get(id)
			all = append(all, known{Cluster: id, Platform: p.Name(), URL: c.Master})
		}
	}
	for _, c := range book.Contexts {
		if slices.Contains(elsewhere, c.Platform) {
			all = append(all, known{
				Cluster: c.Name, Platform: c.Platform, Region: c.Region, Project: c.Project,
				Context: c.KubeContext, Namespace: c.Namespace, URL: c.Master,
			})
		}
	}
	return all, nil
}
