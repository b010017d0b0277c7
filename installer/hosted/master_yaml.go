package hosted

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/det-deploy/det-deploy/cloud/host/manifest"
	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/installer/spec"
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/master/config/provider"
	"github.com/det-deploy/det-deploy/master/config/security"
)

const (
	// MasterPort is the master's port. It always uses TLS.
	MasterPort = 8443
	// FirstAgentPort is the first port on which the master and agents reach agents.
	FirstAgentPort = 1024
	// LastAgentPort is the last such port.
	LastAgentPort = 65535
	// InternetPort is the port on which machines reach the internet.
	InternetPort = 443
	// dataDir is the mount point of the data volume.
	dataDir = "/var/lib/determined"
	// caFile is the CA certificate on the master's machine.
	caFile = "/etc/determined/ca.pem"
	// certFile is the user's certificate on the master's machine.
	certFile = "/etc/determined/master.pem"
)

// Live holds the parts of master.yaml with names assigned by the cloud, known once the resources
// exist.
type Live struct {
	// Storage is the storage for checkpoints.
	Storage config.CheckpointStorage
	Pools   []config.Pool
	// Zones maps pools to the zones of their machines, if the pools themselves do not name them.
	Zones map[string][]string
}

// masterFile writes master.yaml and determines which CA its clients trust.
type masterFile struct{ *secrets }

// masterYAML returns the master.yaml of the cluster. It contains references to secrets, but no
// secrets.
func (c *masterFile) masterYAML(l Live) ([]byte, error) {
	s := c.Common
	m := config.DefaultMaster()
	m.ClusterName = s.Cluster
	m.Port = MasterPort
	m.DataDir = dataDir
	m.Binaries = manifest.BinariesDir
	m.EnableCORS, m.CORSOrigins = s.EnableCORS, s.CORSOrigins
	m.NotebookTimeout = s.Tasks.NotebookTimeout
	m.Security = s.Security.Over(m.Security)
	m.Security.TLS = security.TLS{Cert: c.referenceOf(tlsSecret), Key: c.referenceOf(tlsSecret)}
	if s.TLS.Own() {
		m.Security.TLS = security.TLS{Cert: certFile, Key: c.resolveReference(s.TLS.Key, tlsSecret)}
	}
	var err error
	if m.Security.InitialUserPassword, err = secret.Parse(c.resolveReference(s.InitialPassword, passwordSecret)); err != nil {
		return nil, err
	}
	if c.hasDeterminedPassword() {
		if m.Security.DeterminedPassword, err = secret.Parse(c.resolveReference(s.DeterminedPassword, determinedSecret)); err != nil {
			return nil, err
		}
	}
	if !s.Database.URL.IsZero() {
		if m.DB.URL, err = secret.Parse(c.resolveReference(s.Database.URL, databaseSecret)); err != nil {
			return nil, err
		}
	}
	m.CheckpointStorage = &l.Storage
	if err := c.setTasks(&m.TaskContainerDefaults); err != nil {
		return nil, err
	}
	m.TaskPolicy = s.TaskPolicy
	m.ResourceManager = config.ResourceManager{Agent: &config.AgentRM{
		ClusterName: s.Cluster, Scheduler: s.Scheduler,
		DefaultPools: config.DefaultPools{Aux: spec.AuxPool, Compute: s.DefaultPool},
	}}
	m.ResourcePools = append(m.ResourcePools, l.Pools...)
	return c.overlayMaster(m)
}

func (c *masterFile) setTasks(d *container.Defaults) error {
	s := c.Common.Tasks
	d.Image = container.Images{CPU: s.CPUImage, CUDA: s.GPUImage, ROCm: s.GPUImage}
	d.HarnessWheel = container.Wheel{File: c.wheelFile()}
	if s.Registry.User == "" {
		return nil
	}
	password, err := secret.Parse(c.resolveReference(s.Registry.Password, registrySecret))
	if err != nil {
		return err
	}
	d.RegistryAuth = &container.RegistryAuth{Username: s.Registry.User, Password: password, ServerAddress: s.Registry.Server}
	return nil
}

// NewPool returns a pool of master.yaml without its provider.
func (c *masterFile) NewPool(name string, p spec.Pool) config.Pool {
	out := config.DefaultPool(name)
	out.Description, out.MaxAuxContainersPerAgent, out.TaskPolicy = p.Description, p.MaxAuxTasks, p.TaskPolicy
	out.SlotPrice = p.SlotPrice
	// As long as an agent retries, because its tasks wait for it.
	a := c.Agents
	out.AgentReconnectWait = document.Duration(a.ReconnectBackoff) * document.Duration(a.ReconnectAttempts)
	return out
}

// NewElastic returns the provider settings common to all clouds.
func (c *masterFile) NewElastic(p spec.Pool) (provider.Elastic, error) {
	a := c.Agents
	e := provider.DefaultElastic()
	// The master fills in its own address; the certificate is for a name.
	e.MasterURL = fmt.Sprintf("https://%s:%d", c.Words.MasterHost, MasterPort)
	e.MasterCertName = c.certName()
	e.StartupScript = document.NewSecret(cmp.Or(p.StartupScript, a.StartupScript))
	e.ContainerStartupScript = document.NewSecret(a.ContainerStartupScript)
	e.Proxy = c.Common.Proxy
	e.AgentDockerNetwork, e.AgentDockerRuntime = a.DockerNetwork, a.DockerRuntime
	e.AgentReconnectAttempts, e.AgentReconnectBackoff = a.ReconnectAttempts, a.ReconnectBackoff
	e.MaxIdleAgentPeriod, e.MaxAgentStartingPeriod = p.IdlePeriod, p.StartingPeriod
	e.MinInstances, e.MaxInstances = p.MinAgents, p.MaxAgents
	e.LaunchErrorTimeout, e.LaunchErrorRetries = p.LaunchErrorTimeout, p.LaunchErrorRetries
	settings := map[string]any{}
	if raw := a.Config.JSON(); raw != nil {
		if err := json.Unmarshal(raw, &settings); err != nil {
			return provider.Elastic{}, fmt.Errorf("read agents.config: %w", err)
		}
	}
	if _, said := settings["hooks"]; !said && a.ShutDownOnConnectionLoss {
		settings["hooks"] = map[string]any{"on_connection_lost": []string{"shutdown", "now"}}
	}
	if len(settings) == 0 {
		return e, nil
	}
	data, err := json.Marshal(settings)
	if err != nil {
		return provider.Elastic{}, fmt.Errorf("write agents.config: %w", err)
	}
	e.AgentConfigFileContents, err = document.RawJSON(data)
	return e, err
}

// overlayMaster merges the user's settings over m and parses the result as the master will.
func (c *masterFile) overlayMaster(m config.Master) ([]byte, error) {
	data, err := document.MarshalWithSecrets(m) // startup scripts have a type that is redacted by default
	if err != nil {
		return nil, fmt.Errorf("write master.yaml: %w", err)
	}
	if raw := c.Common.MasterYAML.JSON(); raw != nil {
		if data, err = document.Overlay(data, raw); err != nil {
			return nil, fmt.Errorf("merge master_yaml into master.yaml: %w", err)
		}
	}
	read, err := config.LoadGenerated(data, "master.yaml", nil)
	if problems, ok := errors.AsType[document.Errors](err); ok {
		err = c.inFragment(problems)
	}
	if err != nil {
		return nil, fmt.Errorf("validate master.yaml: %w", err)
	}
	if err := refuseOwned(m, read.Master); err != nil {
		return nil, err
	}
	if err := refuseSecrets(read.Master); err != nil {
		return nil, err
	}
	return data, nil
}

// refuseOwned returns an error if the user's settings change values on which the machine, its
// firewall rules and its agents depend.
func refuseOwned(m, over config.Master) error {
	var e document.Errors
	check := func(same bool, key, text string) { e.Check(same, "master_yaml."+key, "%s; remove it", text) }
	check(over.ClusterName == m.ClusterName, "cluster_name", "is set by --cluster-id")
	check(over.Port == m.Port, "port", "cannot be changed, because firewall rules and agents depend on it")
	check(over.DataDir == m.DataDir, "data_dir", "is on the master's data disk")
	check(over.Binaries == m.Binaries, "binaries_dir", "is where the machine installs programs")
	check(over.Security.TLS.Cert == m.Security.TLS.Cert && over.Security.TLS.Key == m.Security.TLS.Key, "security.tls", "is set by --tls-cert-file and --tls-key")
	check(over.ResourceManager.Agent != nil && over.ResourceManager.Agent.ClusterName == m.ClusterName, "resource_manager.cluster_name", "is set by --cluster-id")
	return e.Err()
}

// refuseSecrets returns an error if master.yaml contains a secret in plain text, because the file
// is stored in the control bucket.
func refuseSecrets(m config.Master) error {
	for _, p := range m.ResourcePools {
		if p.Provider == nil {
			continue
		}
		if e := p.Provider.Common(); e != nil {
			e.StartupScript, e.ContainerStartupScript = document.Secret{}, document.Secret{}
		}
	}
	if _, err := document.Marshal(m); err != nil {
		return fmt.Errorf("cannot store master.yaml: master_yaml contains a secret in plain text: %w", err)
	}
	return nil
}

// certName returns the name in the master's certificate.
func (c *masterFile) certName() string {
	return cmp.Or(c.Common.TLS.Name, internalName(c.Common.Cluster))
}
