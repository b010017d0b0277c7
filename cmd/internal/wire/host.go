package wire

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"

	aws "github.com/det-deploy/det-deploy/cloud/aws/machine"
	gcp "github.com/det-deploy/det-deploy/cloud/gcp/machine"
	"github.com/det-deploy/det-deploy/cloud/host"
	"github.com/det-deploy/det-deploy/cloud/host/manifest"
	"github.com/det-deploy/det-deploy/cloud/host/setup"
	"github.com/det-deploy/det-deploy/cloud/machine"
)

// Host describes a machine of a cluster in a cloud. Its fields come from the arguments that the machine
// receives at its first boot.
type Host struct {
	// Role is "master" or "agent". Cloud is CloudAWS or CloudGCP.
	Role, Cloud             string
	Cluster, Region, Bucket string
	Endpoint, Logs          string
	Metrics                 bool
	// Proxy is the environment file with the proxies of an agent's machine, or empty.
	Proxy string
}

// RunHost runs the services of a machine until ctx ends or the machine has to restart. It writes its log
// to out.
func RunHost(ctx context.Context, h Host, out io.Writer, terminal bool) error {
	log := hostLog(out, terminal)
	c, err := openHostCloud(ctx, h, log)
	if err != nil {
		return err
	}
	return host.Run(ctx, host.Config{
		Role: host.Role(h.Role), Cluster: h.Cluster, Cloud: c, Bucket: h.Bucket, Logs: h.Logs, Metrics: h.Metrics, Log: log,
	})
}

// The clouds of a Host.
const (
	CloudAWS = "aws"
	CloudGCP = "gcp"
)

// openHostCloud determines the identity of this machine in its cloud.
func openHostCloud(ctx context.Context, h Host, log *slog.Logger) (host.Cloud, error) {
	switch h.Cloud {
	case CloudAWS:
		return aws.Open(ctx, aws.Config{Region: h.Region, Endpoint: h.Endpoint, Log: log})
	case CloudGCP:
		return gcp.Open(ctx, gcp.Config{HasGPU: setup.HasGPU("/"), Log: log})
	}
	return nil, fmt.Errorf("cannot run the services of a machine: unknown cloud %q", h.Cloud)
}

// Volume identifies a master's data volume: by its ID on AWS, and by its name on Google Cloud.
type Volume struct{ ID, Device, Name, At string }

// Step is one step of setting up a machine.
type Step = setup.Step

// MachineSocket is the socket on which a machine serves its agent.
const MachineSocket = machine.Socket

// DataDir is the data directory of a master's machine.
const DataDir = manifest.DataDir

func hostLog(out io.Writer, terminal bool) *slog.Logger {
	return slog.New(logHandler(out, "info", true, terminal))
}

// MasterMachine returns the steps that set this machine up as the master h. runArgs are the arguments of
// "host run".
func MasterMachine(h Host, runArgs []string, v Volume) ([]Step, error) {
	m, err := setup.Master{RunArgs: runArgs, Region: h.Region, Endpoint: h.Endpoint, Volume: v.ID, Device: v.Device, Disk: v.Name}.Machine()
	if err != nil {
		return nil, err
	}
	return planMachine(m)
}

// AgentMachine returns the steps that set this machine up as the agent h with the given agent.yaml.
// runArgs are the arguments of "host run".
func AgentMachine(h Host, runArgs []string, configFile string, config []byte, dataDir string) ([]Step, error) {
	m, err := setup.Agent{
		RunArgs: runArgs, ConfigFile: configFile, Config: config, DataDir: dataDir, Proxy: h.Proxy,
		Drains: h.Cloud == CloudGCP, // Google Cloud announces a preemption by an ACPI power button event
	}.Machine()
	if err != nil {
		return nil, err
	}
	return planMachine(m)
}

// HoldEngine returns the step that holds the packages of this machine's container engine, if any.
func HoldEngine(ctx context.Context) []Step { return setup.HoldEngine(ctx, setup.Exec) }

// AgentImageLacks lists the requirements for running containers that this machine does not meet.
func AgentImageLacks() []string { return setup.Lacks("/", exec.LookPath) }

func planMachine(m setup.Machine) ([]Step, error) {
	var err error
	if m.Self, err = os.Executable(); err != nil {
		return nil, err
	}
	m.Systemctl = host.Systemd{}.Run
	return m.Plan()
}
