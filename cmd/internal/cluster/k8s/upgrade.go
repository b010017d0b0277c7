package k8s

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/agree"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/plan"
	"github.com/det-deploy/det-deploy/installer/record"
	target "github.com/det-deploy/det-deploy/installer/target/k8s"
)

// UpgradeOptions is what `k8s upgrade` is asked.
type UpgradeOptions struct {
	*term.Streams
	Which
	values

	BackupTo   string
	PauseTasks bool
	// Abandon gives up an upgrade instead of making one.
	Abandon    bool
	PauseLimit time.Duration
	Timeout    time.Duration
	DryRun     bool
	Yes        bool
	Output     term.Format

	// limited is true when PauseLimit was given.
	limited bool
}

func newUpgrade(s *term.Streams, run func(context.Context, *UpgradeOptions) error) *cobra.Command {
	o := &UpgradeOptions{Streams: s}
	c := &cobra.Command{
		Use:   "upgrade",
		Short: "Upgrade a cluster on Kubernetes to this version",
		Long: `Bring a cluster on Kubernetes to the det-deploy that is typed, or to the image that
--set image.tag names. The new image is pulled first; then the master stops, its store
is backed up onto a volume that outlives the cluster, and the new master is tried on a
copy of it. Until it serves, whatever goes wrong puts the old one back, and a new
master that does not become ready is rolled back; after an interruption the same
command continues. Pods of tasks go on, and the new master takes them up again; with
--pause-tasks they are stopped first, if all can be run again, and are afterwards.

--abandon gives up an upgrade that is under way or stuck, by whomever it was begun, and
leads back to what ran before. A new master that has answered is not given up: what it
has written the old one cannot read.`,
		Example: `  det-deploy k8s upgrade --cluster-id lab
  det-deploy k8s upgrade --cluster-id lab --backup-to claim:my-backups --yes
  det-deploy k8s upgrade --cluster-id lab --backup-to s3://backups/clusters --pause-tasks
  det-deploy k8s upgrade --cluster-id lab --abandon`,
		Args: usage.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			o.limited = c.Flags().Changed("pause-limit")
			if err := o.validate(); err != nil {
				return err
			}
			return run(c.Context(), o)
		},
	}
	f := c.Flags()
	o.Which.addFlags(f)
	o.values.addFlags(f)
	f.StringVar(&o.BackupTo, "backup-to", "", "claim:NAME of a volume for the backup, or s3://BUCKET/PREFIX (default a volume that is made for the cluster)")
	f.BoolVar(&o.PauseTasks, "pause-tasks", false, "stop preemptible tasks first and resume them afterwards; refused while others run")
	f.DurationVar(&o.PauseLimit, "pause-limit", pauseLimit, "grace period of paused tasks before they are killed, for --pause-tasks")
	f.BoolVar(&o.Abandon, "abandon", false, "abandon an upgrade in progress and return to the former version")
	f.DurationVar(&o.Timeout, "timeout", target.DefaultLimit, "time limit for the master to become ready")
	f.BoolVar(&o.DryRun, "dry-run", false, "print the plan and stop")
	f.BoolVarP(&o.Yes, "yes", "y", false, "skip the confirmation")
	o.Output.AddFlag(f)
	return c
}

func (o *UpgradeOptions) validate() error {
	if o.Timeout <= 0 {
		return usage.Errorf("--timeout: must be more than 0 (is %s)", o.Timeout)
	}
	if o.PauseLimit < 0 {
		return usage.Errorf("--pause-limit: must be 0 or more (is %s)", o.PauseLimit)
	}
	if o.limited && !o.PauseTasks {
		return usage.Errorf("--pause-limit: is of use with --pause-tasks only")
	}
	if o.Abandon && (o.said() || o.BackupTo != "" || o.PauseTasks) {
		return usage.Errorf("--abandon: takes no values, no --backup-to and no --pause-tasks: it leads back to what was")
	}
	if err := agree.Flags(o.DryRun, o.Yes); err != nil {
		return err
	}
	if _, _, err := o.backup(); err != nil {
		return err
	}
	return o.Which.validate()
}

// backup is where --backup-to leads: a claim or a bucket.
func (o *UpgradeOptions) backup() (claim, bucket string, err error) {
	kind, rest, _ := strings.Cut(o.BackupTo, ":")
	path := strings.Trim(rest, "/")
	switch {
	case o.BackupTo == "":
		return "", "", nil
	case kind == "claim" && rest != "":
		return rest, "", nil
	case kind == "s3" && strings.HasPrefix(rest, "//") && path != "":
		return "", "s3://" + path, nil
	}
	return "", "", usage.Errorf("--backup-to: must be claim:NAME or s3://BUCKET/PREFIX (is %q); from a claim it can be copied to any other bucket", o.BackupTo)
}

// RunUpgrade brings a cluster to this program, or gives such an upgrade up.
func RunUpgrade(ctx context.Context, o *UpgradeOptions) error {
	if o.Abandon {
		return o.abandon(ctx)
	}
	ask := agree.Asker{Streams: o.Streams, Output: o.Output, Yes: o.Yes}
	claim, bucket, err := o.backup()
	if err != nil {
		return err
	}
	given := o.given(o.Streams)
	k, err := wire.NewK8s(ctx, o.Streams, wire.K8sRequest{
		Cluster: o.Cluster, At: o.at(o.Streams), Given: &given, Limit: o.Timeout, BackupClaim: claim, BackupBucket: bucket, Sink: ask.Tell(),
	})
	if err != nil {
		return err
	}
	runs, _, err := k.Target.Runs(ctx)
	if err != nil {
		return err
	}
	if runs.IsZero() {
		return absent(ctx, k)
	}
	to, err := k.Target.Wants(ctx)
	if err != nil {
		return err
	}
	would := installer.Upgraded{From: runs, To: to, Changed: k.Record.Upgrade != nil || !runs.Same(to)}
	if !would.Changed {
		p, err := k.Plan(ctx)
		if err != nil {
			return err
		}
		if err := o.onlyValues(p, runs, o.flags(k)); err != nil {
			return err
		}
	}
	if o.DryRun {
		return ask.PrintUpgrade(o.Cluster, would, true)
	}
	if would.Changed {
		if agreed, err := ask.Upgrade(ctx, o.Cluster, runs, to); err != nil || !agreed {
			return err
		}
	}
	done, err := o.upgrade(ctx, k, to, would.Changed)
	if err != nil {
		return err
	}
	return ask.PrintUpgrade(o.Cluster, done, false)
}

// upgrade upgrades, with tasks paused where that is asked for, and lets those start that
// it or a killed one before it paused.
func (o *UpgradeOptions) upgrade(ctx context.Context, k *wire.K8s, to record.Release, changed bool) (done installer.Upgraded, err error) {
	p := pausing{
		store: k.Store, tell: o.Notef, limit: o.PauseLimit, every: time.Second,
		left: func(ctx context.Context) (int, error) { all, err := k.Target.Tasks(ctx); return len(all), err },
	}
	noted, _, err := p.noted(ctx)
	if err != nil {
		return done, err
	}
	wanted := o.PauseTasks && changed
	if len(noted) == 0 && !wanted {
		return k.Upgrade(ctx, to)
	}
	if wanted {
		master, err := session(ctx, o.Streams, k, o.Where)
		if err != nil {
			return done, err
		}
		defer master.Close()
		p.master = master
		if err := p.pause(ctx); err != nil {
			return done, errors.Join(err, p.resume(ctx))
		}
	}
	done, err = k.Upgrade(ctx, to)
	return done, errors.Join(err, o.resume(ctx, k, p))
}

// resume asks the master that serves now, to which the old one's connections lead no
// more.
func (o *UpgradeOptions) resume(ctx context.Context, k *wire.K8s, p pausing) error {
	master, err := session(context.WithoutCancel(ctx), o.Streams, k, o.Where)
	if err != nil {
		noted, _, _ := p.noted(context.WithoutCancel(ctx)) // without them the hint names no node
		return &keptError{noted, err}
	}
	defer master.Close()
	p.master = master
	return p.resume(ctx)
}

// onlyValues refuses to bring a cluster to another state at the version that it has:
// that takes no backup and no trial, and install shows what it would do.
func (o *UpgradeOptions) onlyValues(p plan.Plan, runs record.Release, flags string) error {
	if p.Empty() {
		return nil
	}
	if !o.said() {
		o.Notef("Not everything is as it should be; `det-deploy k8s install %s` brings it there.", flags)
		return nil
	}
	return &onlyValuesError{runs.Version, flags}
}

// onlyValuesError is an upgrade to what differs in its values alone.
type onlyValuesError struct{ version, flags string }

func (e *onlyValuesError) Error() string {
	return "the cluster runs det-deploy " + e.version + " already, and only its values would change"
}

// Hint names the command that changes them.
func (e *onlyValuesError) Hint() string {
	return "give the same values to `det-deploy k8s install " + e.flags + "`; `det-deploy k8s plan` shows what it would do"
}
