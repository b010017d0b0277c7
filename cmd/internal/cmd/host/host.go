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
	f.StringVar(&o.Endpoint, "aws-endpoint", "", "endpoint that replaces those of AWS, for isolated networks and tests")
	f.StringVar(&o.Logs, "journal-group", "", "CloudWatch log group or Cloud Logging log for an agent's journal; for a master, set in its manifest")
	f.BoolVar(&o.Metrics, "report-use", false, "send an agent's machine metrics to CloudWatch or Cloud Monitoring; for a master, set in its manifest")
}

func (o *settings) Validate() error {
	switch {
	case o.Role != master && o.Role != agent:
		return usage.Errorf("--role: must be %s or %s (is %s)", master, agent, cmp.Or(o.Role, "not set"))
	case o.Cloud != wire.CloudAWS && o.Cloud != wire.CloudGCP:
		return usage.Errorf("--cloud: must be %s or %s (is %q)", wire.CloudAWS, wire.CloudGCP, o.Cloud)
	case o.Cloud != wire.CloudAWS && (o.Region != "" || o.Endpoint != ""):
		return usage.Errorf("--region and --aws-endpoint require --cloud %s", wire.CloudAWS)
	case o.Cluster == "":
		return usage.Errorf("--cluster-id is missing")
	case o.Role == master && o.Bucket == "":
		return usage.Errorf("--control-bucket is missing: a master reads its manifest from it")
	case o.Role == master && (o.Logs != "" || o.Metrics):
		return usage.Errorf("--journal-group and --report-use require --role %s; a master's manifest contains both", agent)
	case o.Role == agent && o.Bucket != "":
		return usage.Errorf("--control-bucket requires --role %s", master)
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
