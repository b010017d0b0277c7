package k8s

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/agree"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	target "github.com/det-deploy/det-deploy/installer/target/k8s"
)

type installOptions struct {
	*term.Streams
	wanted

	NoWait  bool
	Timeout time.Duration
	DryRun  bool
	Yes     bool
	Output  term.Format
}

func newInstall(s *term.Streams, run func(context.Context, *installOptions) error) *cobra.Command {
	o := &installOptions{Streams: s}
	c := &cobra.Command{
		Use:   "install",
		Short: "Create or update a cluster on Kubernetes",
		Long: `Create a cluster on Kubernetes, or bring one to what is asked for: install again
changes what differs, repairs what is broken, continues what was interrupted, and
does nothing else. Values are those of the chart, given as to Helm; what is left out
keeps the value it had. On a terminal it asks for what cannot be inferred. Another
version than the one that runs is for upgrade. Nodes pull the image of det-deploy from
imageRegistry, where image push puts it. A release of the name that is not det-deploy's
is left as it is; with --adopt-determined one of Determined's own chart makes room for
the cluster, which begins with its values and without its data.`,
		Example: `  det-deploy k8s install --cluster-id lab --set imageRegistry=registry.example.com/team,maxSlotsPerPod=8
  det-deploy k8s install --cluster-id lab -n ml --create-namespace -f values.yaml --yes
  det-deploy k8s install --cluster-id lab -f values.yaml --set slotType=cpu,slotResourceRequests.cpu=3,maxSlotsPerPod=1 --dry-run`,
		Args: usage.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			return run(c.Context(), o)
		},
	}
	f := c.Flags()
	o.addFlags(f)
	f.BoolVar(&o.NoWait, "no-wait", false, "do not wait for the master")
	f.DurationVar(&o.Timeout, "timeout", target.DefaultLimit, "time limit for the master to become ready")
	f.BoolVar(&o.DryRun, "dry-run", false, "print the plan and stop")
	f.BoolVarP(&o.Yes, "yes", "y", false, "skip the confirmation")
	o.Output.AddFlag(f)
	return c
}

func (o *installOptions) validate() error {
	if o.Timeout <= 0 {
		return usage.Errorf("--timeout: must be more than 0 (is %s)", o.Timeout)
	}
	if err := agree.Flags(o.DryRun, o.Yes); err != nil {
		return err
	}
	if o.Cluster == "" && o.CanAsk() && !o.Yes {
		return nil // it is asked for
	}
	return o.wanted.validate()
}

func runInstall(ctx context.Context, o *installOptions) error {
	ask := agree.Asker{Streams: o.Streams, Output: o.Output, Yes: o.Yes}
	k, err := o.open(ctx, o.Streams, !o.Yes, wire.K8sRequest{NoWait: o.NoWait, Limit: o.Timeout, Sink: ask.Tell()})
	if err != nil {
		return err
	}
	if err := k.Target.Fits(ctx, k.Record); err != nil {
		return err
	}
	report := k.Check(ctx)
	if err := ask.Checks(report); err != nil {
		return err
	}
	p, err := k.Plan(ctx)
	if err != nil {
		return err
	}
	if err := o.warn(ctx, o.Streams, k); err != nil {
		return err
	}
	if o.DryRun {
		return ask.Plan(p)
	}
	if agreed, err := ask.Up(ctx, p); err != nil || !agreed {
		return err
	}
	if err := k.Up(ctx, p); err != nil {
		return err
	}
	return o.finish(ctx, k)
}

// open puts a cluster together as the user wants it. Q says what it is for, and ask
// whether somebody may be asked for what is missing.
func (w *wanted) open(ctx context.Context, s *term.Streams, ask bool, q wire.K8sRequest) (*wire.K8s, error) {
	given := w.given(s)
	if err := w.complete(ctx, s, &given, ask && s.CanAsk()); err != nil {
		return nil, err
	}
	q.Cluster, q.At, q.CreateNamespace, q.Adopt, q.Given = w.Cluster, w.at(s), w.CreateNamespace, w.Adopt, &given
	k, err := wire.NewK8s(ctx, s, q)
	if err == nil {
		noteEffects(s, k.OtherEffects)
	}
	return k, err
}

// noteEffects tells who brings values of Determined's chart what they do here.
func noteEffects(s *term.Streams, effects []string) {
	for _, line := range effects {
		s.Notef("%s", line)
	}
}

// warn says what is lost by adopting a release.
func (w *wanted) warn(ctx context.Context, s *term.Streams, k *wire.K8s) error {
	lost, err := k.Losses(ctx)
	if err != nil || len(lost) == 0 {
		return err
	}
	s.Notef("Cluster %s takes the place of Determined's release, %s %s. What that means:", k.Cluster, k.Helm.Chart, k.Helm.Version)
	for _, line := range lost {
		s.Notef("  - %s", line)
	}
	return nil
}
