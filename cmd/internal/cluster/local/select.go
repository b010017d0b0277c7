package local

import (
	"context"
	"fmt"
	"os"
	"slices"
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
	// Forget is the option of down.
	Forget bool
	// restores is true for restore, and Backup is its file.
	restores bool
	Backup   string
	// Follow and Process are the options of logs. An empty Process selects all.
	Follow  bool
	Process string
	// Given holds the settings from the command line.
	Given spec.Given

	cluster.Settings
}

// AddFlags declares the flags of a verb.
func (o *selection) AddFlags(v cluster.Verb, f *pflag.FlagSet) {
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
	case cluster.Down:
		f.BoolVar(&o.Forget, "forget", false, "also forget the settings, which the next up would use again")
	case cluster.Plan, cluster.Doctor, cluster.Status, cluster.List, cluster.Credentials, cluster.Upgrade, cluster.Adopt:
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
	}
	return err
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
	return &opened{Local: l, Streams: o.Streams, Foreground: o.Foreground, forget: o.Forget}, nil
}

// absentError reports a cluster that does not exist.
type absentError struct {
	cluster string
	have    []string
}

// absent returns the error for a cluster that does not exist on this machine.
func absent(s *term.Streams, id string) error {
	have, _ := wire.LocalClusters(s) // without them, the error is only less helpful
	return &absentError{id, slices.DeleteFunc(have, func(other string) bool { return other == id })}
}

func (e *absentError) Error() string {
	return fmt.Sprintf("cluster %s does not exist on this machine%s", e.cluster, cluster.NameOthers(e.cluster, e.have))
}

// Hint names the command that creates the cluster.
func (e *absentError) Hint() string { return "det-deploy local up --cluster-id " + e.cluster }
