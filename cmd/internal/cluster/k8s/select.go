package k8s

import (
	"context"
	"time"

	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	k8swire "github.com/det-deploy/det-deploy/cmd/internal/wire/k8s"
)

// wanted holds the cluster and flags of a single command.
type wanted struct {
	*term.Streams
	Which
	values
	upgrading
	logQuery

	CreateNamespace bool
	Adopt           bool
	NoWait          bool
	Timeout         time.Duration

	flags *pflag.FlagSet
}

// AddFlags declares the flags of a verb.
func (w *wanted) AddFlags(v cluster.Verb, f *pflag.FlagSet) {
	w.flags = f
	if v == cluster.List {
		w.Where.addFlags(f)
		return
	}
	w.Which.addFlags(f)
	switch v {
	case cluster.Up, cluster.Plan, cluster.Doctor:
		w.values.addFlags(f)
		f.BoolVar(&w.Reset, "reset-values", false, "reset values that are not given to the chart's defaults")
		f.BoolVar(&w.CreateNamespace, "create-namespace", false, "create the namespace if it does not exist")
		f.BoolVar(&w.Adopt, "adopt-determined", false, "replace a release of Determined's own chart and keep its values; its database is kept but not read")
		if v == cluster.Up {
			f.BoolVar(&w.NoWait, "no-wait", false, "do not wait for the master")
			addTimeout(f, &w.Timeout)
		}
	case cluster.Upgrade:
		w.values.addFlags(f)
		w.upgrading.addFlags(f)
		addTimeout(f, &w.Timeout)
	case cluster.Logs:
		w.logQuery.addFlags(f)
	case cluster.Status, cluster.List, cluster.Credentials, cluster.Down, cluster.Adopt:
	}
}

// Validate checks the flags before any call is made.
func (w *wanted) Validate(r cluster.Request) error {
	if (r.Verb == cluster.Up || r.Verb == cluster.Upgrade) && w.Timeout <= 0 {
		return usage.Errorf("--timeout: must be more than 0 (is %s)", w.Timeout)
	}
	if w.Adopt && w.Reset {
		return usage.Errorf("use either --adopt-determined, which keeps the release's values, or --reset-values; to remove a single value, use --set KEY=null")
	}
	switch r.Verb {
	case cluster.List:
		return nil
	case cluster.Logs:
		if err := w.logQuery.validate(); err != nil {
			return err
		}
	case cluster.Upgrade:
		if err := w.upgrading.validate(w.flags.Changed("pause-limit"), w.isGiven()); err != nil {
			return err
		}
	case cluster.Up:
		if w.Cluster == "" && w.CanAsk() && !r.Yes {
			return nil // the form asks for it
		}
	case cluster.Plan, cluster.Doctor, cluster.Status, cluster.Credentials, cluster.Down, cluster.Adopt:
	}
	return w.Which.validate()
}

// Open opens the cluster: with the requested values for a verb that describes a cluster, and as it exists
// for others. Verbs that take the beginning of an ID open the only cluster of the namespace that has it.
func (w *wanted) Open(ctx context.Context, r cluster.Request) (cluster.Cluster, error) {
	c, err := w.openWhole(ctx, r)
	if !r.Verb.TakesBeginning() {
		return c, err
	}
	id, err := completeID(w.Cluster, err)
	if err != nil || id == w.Cluster {
		return c, err
	}
	w.Cluster = id
	return w.openWhole(ctx, r)
}

func (w *wanted) openWhole(ctx context.Context, r cluster.Request) (cluster.Cluster, error) {
	q := k8swire.Request{NoWait: w.NoWait, Limit: w.Timeout, BackupClaim: w.BackupClaim, BackupBucket: w.BackupBucket, Sink: r.Sink}
	q.Unread = r.Verb == cluster.Down || r.Verb == cluster.Upgrade && w.Abandon
	if r.Verb.Describes() || r.Verb == cluster.Upgrade && !w.Abandon {
		given := w.givenValues(w.Streams)
		q.Given = &given
	}
	if r.Verb.Describes() {
		if err := w.completeSettings(ctx, w.Streams, q.Given, r.Verb == cluster.Up && !r.Yes && w.CanAsk()); err != nil {
			return nil, err
		}
		q.CreateNamespace, q.Adopt = w.CreateNamespace, w.Adopt
	}
	q.Cluster, q.At = w.Cluster, w.kubeAt(w.Streams)
	k, err := k8swire.Open(ctx, w.Streams, q)
	if err != nil {
		return nil, err
	}
	if r.Verb.Describes() {
		noteEffects(w.Streams, k.OtherEffects)
	}
	c := &opened{Opened: k, w: w}
	if r.Verb == cluster.Status || r.Verb == cluster.Credentials || r.Verb == cluster.Logs {
		return c, c.requireCluster(ctx)
	}
	return c, nil
}

// openExisting opens a cluster, or the only one of the namespace that has the beginning of an ID, as it exists. It returns a *cluster.AbsentError if there is none.
func openExisting(ctx context.Context, s *term.Streams, w *Which) (*k8swire.Opened, error) {
	k, err := openWhole(ctx, s, w)
	id, err := completeID(w.Cluster, err)
	if err != nil || id == w.Cluster {
		return k, err
	}
	w.Cluster = id
	return openWhole(ctx, s, w)
}

func openWhole(ctx context.Context, s *term.Streams, w *Which) (*k8swire.Opened, error) {
	k, err := k8swire.Open(ctx, s, k8swire.Request{Cluster: w.Cluster, At: w.kubeAt(s)})
	if err != nil {
		return nil, err
	}
	return k, (&opened{Opened: k}).requireCluster(ctx)
}

// noteEffects notes the values of Determined's chart that have a different effect here.
func noteEffects(s *term.Streams, effects []string) {
	for _, line := range effects {
		s.Notef("%s", line)
	}
}

// requireCluster returns a *cluster.AbsentError if no part of the cluster exists.
func (c *opened) requireCluster(ctx context.Context) error {
	if c.Removed {
		return &cluster.DownError{Cluster: c.ID(), Up: "det-deploy k8s install --cluster-id " + c.ID() + " --namespace " + c.Namespace()}
	}
	if found, err := c.Exists(ctx); err != nil || found {
		return err
	}
	return c.absentError(ctx)
}
