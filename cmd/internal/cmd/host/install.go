package host

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	agentconfig "github.com/det-deploy/det-deploy/agent/config"
	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/exit"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/unit"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	"github.com/det-deploy/det-deploy/internal/document"
)

type installOptions struct {
	command.Base
	settings

	dataDisk

	Master     string
	MasterCA   string
	MasterName string
	Runtime    string

	DryRun bool
	Yes    bool
}

func newInstall(s *term.Streams) *cobra.Command {
	o := &installOptions{}
	c := command.New(s, o, runInstall, &cobra.Command{
		Use:   "install",
		Short: "Set up this machine for a cluster in a cloud",
		Long: `Set up this machine for a cluster in a cloud: install this program, write systemd
units, and enable and start them. The user data or startup script of a machine runs it
at the first boot. It can be repeated. Without a volume, a master's data is on the root
disk.`,
		Example: `  det-deploy host install --role master --cluster-id lab --control-bucket det-deploy-lab-123456789012 --yes
  det-deploy host install --cloud gcp --role master --cluster-id lab --control-bucket det-deploy-lab-415104041262 --disk-name det-data --yes
  det-deploy host install --role agent --cluster-id lab --master-url https://10.0.0.5:8443 --master-ca ca.pem --dry-run`,
	})
	f := c.Flags()
	o.settings.addFlags(f)
	o.dataDisk.addFlags(f)
	f.StringVar(&o.Master, "master-url", "", "address of the master for an agent, such as https://10.0.0.5:8443")
	f.StringVar(&o.MasterCA, "master-ca", "", "CA file for the master's certificate")
	f.StringVar(&o.MasterName, "master-name", "", "name in the master's certificate, if it is not the host of the address")
	f.StringVar(&o.Proxy, "proxy-file", "", "environment file with the proxies of an agent's machine, for det-deploy, Docker and tasks; for a master, set in its manifest")
	f.StringVar(&o.Runtime, "runtime", agentconfig.RuntimeDocker, "initial container runtime until the master configures another: docker, process or auto")
	f.BoolVar(&o.DryRun, "dry-run", false, "show what would change, change nothing")
	f.BoolVarP(&o.Yes, "yes", "y", false, "skip the confirmation")
	return c
}

func (o *installOptions) Validate() error {
	if err := o.settings.Validate(); err != nil {
		return err
	}
	if o.Role == master && o.Master != "" {
		return usage.Errorf("--master-url requires --role %s", agent)
	}
	if o.Role == master && o.Proxy != "" {
		return usage.Errorf("--proxy-file requires --role %s; a master's manifest contains its proxies", agent)
	}
	if err := o.checkDisk(); err != nil {
		return err
	}
	if o.Role == agent {
		_, err := o.agentYAML()
		return usage.Check(err)
	}
	return nil
}

// checkDisk returns an error if the data disk does not fit the role or cloud of the machine.
func (o *installOptions) checkDisk() error {
	switch {
	case o.Volume != "" && o.Name != "":
		return usage.Errorf("use either --volume or --disk-name")
	case o.Role == agent && o.Volume != "":
		return usage.Errorf("--volume requires --role %s", master)
	case o.Role == agent && o.Name != "":
		return usage.Errorf("--disk-name requires --role %s", master)
	case o.Cloud == wire.CloudAWS && o.Name != "":
		return usage.Errorf("--disk-name requires --cloud %s; use --volume", wire.CloudGCP)
	case o.Cloud == wire.CloudGCP && o.Volume != "":
		return usage.Errorf("--volume requires --cloud %s; use --disk-name", wire.CloudAWS)
	}
	return o.checkName()
}

// agentYAML returns the agent's initial configuration: the master's address and the means to prove the
// machine's identity. The master sends the remaining settings when the agent joins.
func (o *installOptions) agentYAML() (agentconfig.Agent, error) {
	u, err := url.Parse(o.Master)
	if err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http" {
		return agentconfig.Agent{}, fmt.Errorf("--master-url: must begin with https:// or http:// (is %q)", o.Master)
	}
	a := agentconfig.DefaultAgent()
	a.MasterHost = u.Hostname()
	if port := u.Port(); port != "" {
		if a.MasterPort, err = strconv.Atoi(port); err != nil {
			return a, fmt.Errorf("--master-url: port: %w", err)
		}
	}
	a.MachineSocket, a.ClusterID = wire.MachineSocket, o.Cluster
	a.ContainerRuntime = o.Runtime
	if err := readProxies(o.Proxy, &a); err != nil {
		return a, err
	}
	// A machine that the master rejects would incur costs for nothing.
	a.Hooks.OnJoinRefused = []string{"systemctl", "poweroff"}
	a.Security.TLS = agentconfig.TLS{Enabled: u.Scheme == "https", MasterCert: o.MasterCA, MasterCertName: o.MasterName}
	if problems := a.Validate(""); len(problems) > 0 {
		return a, problems.Err()
	}
	return a, nil
}

// readProxies sets the proxies of tasks to those of the machine.
func readProxies(file string, a *agentconfig.Agent) error {
	if file == "" {
		return nil
	}
	data, err := usage.ReadFile("--proxy-file", file)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(data)) {
		switch name, value, _ := strings.Cut(strings.TrimSpace(line), "="); name {
		case "HTTP_PROXY":
			a.HTTPProxy = document.NewSecret(value)
		case "HTTPS_PROXY":
			a.HTTPSProxy = document.NewSecret(value)
		case "NO_PROXY":
			a.NoProxy = value
		}
	}
	return nil
}

func runInstall(ctx context.Context, o *installOptions) error {
	if err := (unit.Unit{}).Check("host", "install"); err != nil {
		return err
	}
	steps, err := o.steps(ctx)
	if err != nil {
		return err
	}
	for _, s := range steps {
		o.Printf("  + %s", s.What)
	}
	if o.DryRun {
		return nil
	}
	if ok, err := o.Agreed(ctx, o.Yes, "Set up this machine?"); err != nil || !ok {
		return err
	}
	for _, s := range steps {
		switch err := s.Do(ctx); {
		case err == nil:
		case s.Optional && ctx.Err() == nil:
			o.Notef("warning: cannot %s: %v", s.What, err)
		default:
			return exit.Continuing(fmt.Errorf("%s: %w", s.What, err))
		}
	}
	if o.Role == agent && o.Runtime == agentconfig.RuntimeDocker {
		for _, line := range wire.AgentImageLacks() {
			o.Notef("warning: %s", line)
		}
	}
	return nil
}

func (o *installOptions) steps(ctx context.Context) ([]wire.Step, error) {
	if o.Role == master {
		return wire.MasterMachine(o.Host, o.flagArgs(), o.volume(""))
	}
	a, err := o.agentYAML()
	if err != nil {
		return nil, err
	}
	text, err := document.MarshalWithSecrets(a) // only root can read the file
	if err != nil {
		return nil, fmt.Errorf("cannot write %s: %w", a.ConfigFile, err)
	}
	steps, err := wire.AgentMachine(o.Host, o.flagArgs(), a.ConfigFile, text, a.DataDir)
	if o.Runtime != agentconfig.RuntimeProcess {
		steps = append(wire.HoldEngine(ctx), steps...) // before the scripts of the pool run
	}
	return steps, err
}
