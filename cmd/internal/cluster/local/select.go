package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	target "github.com/det-deploy/det-deploy/installer/target/local"
)

// selection is the cluster that a command is about.
type selection struct {
	*term.Streams

	Cluster    string
	Foreground bool
	// Follow and Process are for logs; all processes when Process is empty.
	Follow  bool
	Process string
	// Given are the settings that were named on the command line.
	Given map[string]string

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
		f.Int(target.PortSetting, 8080, "port of the master")
		f.Int(target.AgentSetting, 1, "number of agents")
		f.Int(target.SlotSetting, 0, "fake slots per agent, for testing; 0 for real ones")
		f.Int(target.ElasticSetting, 0, "maximum number of agents that the master starts in the pool elastic when tasks wait")
		f.Bool(target.TLSSetting, false, "use TLS with the cluster's own certificate")
		f.String(target.DBSetting, "", "file with the URL of a PostgreSQL database; an embedded one when empty")
		f.Bool(target.TrustSetting, false, "allow tasks of all users even where tasks are not isolated from this machine")
		f.String(target.ConfigSetting, "", "file with master.yaml settings that override the cluster's, such as task_policy and security")
		f.BoolVar(&o.Foreground, "foreground", false, "run in the foreground; Ctrl-C stops the cluster")
	case cluster.Plan, cluster.Doctor, cluster.Status, cluster.List, cluster.Credentials, cluster.Upgrade, cluster.Down, cluster.Adopt:
	}
}

// Validate checks the flags, and reads the files that they name.
func (o *selection) Validate(r cluster.Request) error {
	if err := cluster.CheckID(o.Cluster); err != nil {
		return err
	}
	o.Process = strings.Join(r.Args, "")
	if r.Verb == cluster.Up {
		o.Given = givenIn(o.flags)
	}
	if file := o.Given[target.ConfigSetting]; file != "" {
		data, err := os.ReadFile(file)
		if err != nil {
			return usage.Check(fmt.Errorf("read --%s: %w", target.ConfigSetting, err))
		}
		o.Given[target.ConfigSetting] = string(data)
	}
	if file := o.Given[target.DBSetting]; file != "" {
		abs, err := filepath.Abs(file)
		if err != nil {
			return usage.Check(err)
		}
		o.Given[target.DBSetting] = abs
	}
	return nil
}

// givenIn returns the settings whose flags were named.
func givenIn(f *pflag.FlagSet) map[string]string {
	out := make(map[string]string)
	for name := range target.Defaults() {
		if flag := f.Lookup(name); flag != nil && flag.Changed {
			out[name] = flag.Value.String()
		}
	}
	return out
}

// Open prepares the cluster.
func (o *selection) Open(ctx context.Context, r cluster.Request) (cluster.Cluster, error) {
	given := o.Given
	if r.Verb == cluster.Upgrade {
		given = map[string]string{} // the cluster is to be brought to this program
	}
	l, err := wire.NewLocal(ctx, o.Streams, o.Cluster, given, r.Sink)
	if err != nil {
		return nil, err
	}
	if (r.Verb == cluster.Status || r.Verb == cluster.Upgrade) && !l.Known && !l.Recovered {
		return nil, &absentError{o.Cluster}
	}
	return &opened{Local: l, Streams: o.Streams, Foreground: o.Foreground}, nil
}

// absentError is a cluster that is not there.
type absentError struct{ cluster string }

func (e *absentError) Error() string {
	return fmt.Sprintf("cluster %s does not exist on this machine", e.cluster)
}

// Hint names the command that makes it.
func (e *absentError) Hint() string { return "det-deploy local up --cluster-id " + e.cluster }
