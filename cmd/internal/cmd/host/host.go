// Package host implements the commands that set up and run the machines of a cluster in a cloud. They are
// run by the boot scripts of the machines; users need them only for troubleshooting.
package host

import (
	"cmp"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
)

// The roles of a machine.
const (
	master = "master"
	agent  = "agent"
)

// New returns `det-deploy host`.
func New(s *term.Streams) *cobra.Command {
	c := command.NewNoun(s, "host", "Node services (internal)", "  det-deploy host run --role agent --cluster-id lab",
		newDrain, newInstall, newMount, newRun)
	c.Hidden = true
	return c
}

// settings are the settings of the machine.
type settings struct{ wire.Host }

func (o *settings) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.Role, "role", "", "role of this machine: master or agent")
	f.StringVar(&o.Cloud, "cloud", wire.CloudAWS, "cloud that this machine is in: aws or gcp")
	f.StringVar(&o.Cluster, "cluster-id", "", "cluster ID")
	f.StringVar(&o.Region, "region", "", "AWS region")
	f.StringVar(&o.Bucket, "control-bucket", "", "control bucket of the cluster, for a master")
	f.StringVar(&o.Endpoint, "aws-endpoint", "", "endpoint that replaces Amazon's, for closed networks and tests")
	f.StringVar(&o.Logs, "journal-group", "", "CloudWatch group or log of Cloud Logging for the journal, for an agent; a master's manifest names it")
	f.BoolVar(&o.Metrics, "report-use", false, "send the machine's metrics to CloudWatch or Cloud Monitoring, for an agent; a master's manifest says so")
}

func (o *settings) Validate() error {
	switch {
	case o.Role != master && o.Role != agent:
		return usage.Errorf("--role must be %s or %s (%s)", master, agent, cmp.Or(o.Role, "not given"))
	case o.Cloud != wire.CloudAWS && o.Cloud != wire.CloudGCP:
		return usage.Errorf("--cloud must be %s or %s (%q)", wire.CloudAWS, wire.CloudGCP, o.Cloud)
	case o.Cloud != wire.CloudAWS && (o.Region != "" || o.Endpoint != ""):
		return usage.Errorf("--region and --aws-endpoint are for --cloud %s: other machines ask their metadata server", wire.CloudAWS)
	case o.Cluster == "":
		return usage.Errorf("--cluster-id is missing")
	case o.Role == master && o.Bucket == "":
		return usage.Errorf("--control-bucket is missing: it is where a master reads what to run")
	case o.Role == master && (o.Logs != "" || o.Metrics):
		return usage.Errorf("--journal-group and --report-use are for --role %s: a master's manifest says both", agent)
	case o.Role == agent && o.Bucket != "":
		return usage.Errorf("--control-bucket is for --role %s: an agent has no part in the control bucket", master)
	}
	return nil
}

// flagArgs returns the settings as command-line flags.
func (o *settings) flagArgs() []string {
	var args []string
	if o.Cloud != wire.CloudAWS {
		args = []string{"--cloud", o.Cloud}
	}
	args = append(args, "--role", o.Role, "--cluster-id", o.Cluster)
	for _, f := range [][2]string{{"--region", o.Region}, {"--control-bucket", o.Bucket}, {"--aws-endpoint", o.Endpoint}, {"--journal-group", o.Logs}} {
		if f[1] != "" {
			args = append(args, f[0], f[1])
		}
	}
	if o.Metrics {
		args = append(args, "--report-use")
	}
	return args
}
