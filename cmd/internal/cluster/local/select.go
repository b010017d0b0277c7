package local

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	"github.com/det-deploy/det-deploy/installer/spec"
	target "github.com/det-deploy/det-deploy/installer/target/local"
)

// selection holds the cluster and flags of a single command.
type selection struct {
	*term.Streams

	Cluster    string
	Foreground bool
	// restores is true for restore, and Backup is its file.
	restores bool
	Backup   string
	// Follow and Process are the options of logs. An empty Process selects all.
	Follow  bool
	Process string
	// Given holds the settings from the command line.
	Given spec.Given

	cluster.Settings

	flags *pflag.FlagSet
}

// AddFlags declares the flags of a verb.
func (o *selection) AddFlags(v cluster.Verb, f *pflag.FlagSet) {
	o.flags = f
	cluster.AddID(f, &o.Cluster, target.DefaultCluster)
	switch v {
	case cluster.Logs:
		cluster.AddFollow(f, &o.Follow)
	case cluster.Up:
		o.Declare(f, target.Flags())
		if o.restores {
			f.StringVar(&o.Backup, "file", "", "backup to read")
			return
		}
		f.BoolVar(&o.Foreground, "foreground", false, "run in the foreground; Ctrl-C stops the cluster")
	case cluster.Down, cluster.Plan, cluster.Doctor, cluster.Status, cluster.List, cluster.Credentials, cluster.Upgrade, cluster.Adopt:
	}
}

// Validate checks the flags and reads the files that they name.
func (o *selection) Validate(r cluster.Request) (err error) {
	if err := cluster.CheckID(o.Cluster); err != nil {
		return err
	}
	o.Process = strings.Join(r.Args, "")
	if o.restores {
		if o.Backup, err = absolute(o.Backup); err != nil {
			return err
		}
	}
	if r.Verb == cluster.Up {
		o.Given.Flags, err = o.ReadSettings()
		return err
	}
	return o.completeID(r.Verb)
}

// Open opens the cluster.
func (o *selection) Open(ctx context.Context, r cluster.Request) (cluster.Cluster, error) {
	var given *spec.Given
	if r.Verb == cluster.Up || r.Verb == cluster.Upgrade { // these verbs install this program
		given = &o.Given
	}
	l, err := wire.NewLocal(ctx, o.Streams, o.Cluster, given, r.Sink)
	if err != nil {
		return nil, err
	}
	if (r.Verb == cluster.Status || r.Verb == cluster.Upgrade) && !l.Known && !l.Recovered {
		if l.Removed {
			return nil, &cluster.DownError{Cluster: o.Cluster, Up: o.Command("local up" + idFlag(o.Cluster))}
		}
		return nil, absent(o.Streams, o.Cluster)
	}
	if o.restores {
		// A failed restore leaves a record and an empty store, and may be repeated.
		if l.Target.HasMaster() || l.Target.HasStore() && !l.Known {
			return nil, &existsError{o.Cluster}
		}
		if _, err := os.Stat(o.Backup); err != nil {
			return nil, fmt.Errorf("cannot read the backup: %w", err)
		}
		l.Target.RestoreFrom = o.Backup
	}
	return &opened{Local: l, Streams: o.Streams, Foreground: o.Foreground}, nil
}

// absent returns the error for a cluster that does not exist on this machine.
func absent(s *term.Streams, id string) error {
	return &cluster.AbsentError{
		Cluster: id, Have: others(s, id), None: "none is known on this machine", Try: "det-deploy local up --cluster-id " + id,
	}
}

// others returns the other clusters on this machine.
func others(s *term.Streams, id string) []cluster.Existing {
	all, _ := wire.LocalClusters(s) // without them, messages are only less helpful
	var out []cluster.Existing
	for _, other := range all {
		if other != id {
			out = append(out, cluster.Existing{ID: other})
		}
	}
	return out
}

// completeID replaces the given beginning of an ID by the ID, for verbs that take it. A cluster that was
// removed and has left data is not another one.
func (o *selection) completeID(v cluster.Verb) error {
	if !v.TakesBeginning() || !o.flags.Changed("cluster-id") {
		return nil
	}
	place, err := wire.LocalPlace(o.Streams, o.Cluster)
	if err != nil {
		return err
	}
	if _, err := os.Stat(string(place)); err == nil {
		return nil
	}
	found, one, err := cluster.Beginning(o.Cluster, others(o.Streams, o.Cluster))
	if one {
		o.Cluster = found.ID
	}
	return err
}
