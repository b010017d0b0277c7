package aws

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/det-deploy/det-deploy/cloud/host/manifest"
	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/document"
	"github.com/det-deploy/det-deploy/installer/spec"
	"github.com/det-deploy/det-deploy/master/config"
)

const (
	// masterPort is where the master answers, with TLS always.
	masterPort = 8443
	// dataDir is where the machine mounts the data volume.
	dataDir = "/var/lib/determined"
	// caFile is the CA on the master's machine.
	caFile = "/etc/determined/ca.pem"
	// certFile is a certificate of the user's own.
	certFile = "/etc/determined/master.pem"
	// agentTag marks the machines that the master launches, besides the tag that
	// everything of the cluster has.
	agentTag = "det-deploy-agents"
)

// live is what master.yaml says of things that Amazon names, known once they are
// there.
type live struct {
	// Subnets is by the name that the spec uses: a zone, or the subnet itself.
	Subnets    map[string]string
	AgentGroup string
	Profile    string
	// Bucket is for checkpoints.
	Bucket string
}

// masterYAML is what the cluster's master reads. Secrets are references: nothing
// in it is secret.
func (t *Target) masterYAML(l live) ([]byte, error) {
	s := t.Spec
	m := config.DefaultMaster()
	m.ClusterName = s.Cluster
	m.Port = masterPort
	m.DataDir = dataDir
	m.Binaries = manifest.BinariesDir
	m.EnableCORS = s.EnableCORS
	m.NotebookTimeout = s.Tasks.NotebookTimeout
	m.Security = s.Security.Over(m.Security)
	m.Security.TLS = config.TLS{Cert: t.reference(tlsSecret), Key: t.reference(tlsSecret)}
	if s.TLS.Own() {
		m.Security.TLS = config.TLS{Cert: certFile, Key: t.refer(s.TLS.Key, tlsSecret)}
	}
	var err error
	if m.Security.InitialUserPassword, err = secret.Parse(t.refer(s.InitialPassword, passwordSecret)); err != nil {
		return nil, err
	}
	if t.hasDeterminedPassword() {
		if m.Security.DeterminedPassword, err = secret.Parse(t.refer(s.DeterminedPassword, determinedSecret)); err != nil {
			return nil, err
		}
	}
	if !s.Database.URL.IsZero() {
		if m.DB.URL, err = secret.Parse(t.refer(s.Database.URL, databaseSecret)); err != nil {
			return nil, err
		}
	}
	m.CheckpointStorage = &config.CheckpointStorage{S3: &config.S3Storage{Saved: s.Storage.Saved, Bucket: l.Bucket, Prefix: s.Storage.Prefix}}
	if err := t.tasks(&m.TaskContainerDefaults); err != nil {
		return nil, err
	}
	m.TaskPolicy = s.TaskPolicy
	m.ResourceManager = config.ResourceManager{Agent: &config.AgentRM{
		ClusterName: s.Cluster, Scheduler: s.Scheduler,
		DefaultPools: config.DefaultPools{Aux: spec.AuxPool, Compute: s.DefaultPool},
	}}
	for _, name := range slices.Sorted(maps.Keys(s.AllPools())) {
		pool, err := t.pool(name, s.AllPools()[name], l)
		if err != nil {
			return nil, err
		}
		m.ResourcePools = append(m.ResourcePools, pool)
	}
	return t.overlaid(m)
}

func (t *Target) tasks(d *config.TaskContainerDefaults) error {
	s := t.Spec.Tasks
	d.Image = config.Images{CPU: s.CPUImage, CUDA: s.GPUImage, ROCm: s.GPUImage}
	if s.Registry.User == "" {
		return nil
	}
	password, err := secret.Parse(t.refer(s.Registry.Password, registrySecret))
	if err != nil {
		return err
	}
	d.RegistryAuth = &config.RegistryAuth{Username: s.Registry.User, Password: password, ServerAddress: s.Registry.Server}
	return nil
}

func (t *Target) pool(name string, p spec.AWSPool, l live) (config.Pool, error) {
	out := config.DefaultPool(name)
	out.Description, out.MaxAuxContainersPerAgent, out.TaskPolicy = p.Description, p.MaxAuxTasks, p.TaskPolicy
	// As long as an agent tries: its tasks wait for it.
	a := t.Spec.Agents
	out.AgentReconnectWait = document.Duration(a.ReconnectBackoff) * document.Duration(a.ReconnectAttempts)
	aws := &config.AWSProvider{}
	aws.SetDefaults()
	elastic, err := t.elastic(p)
	if err != nil {
		return config.Pool{}, err
	}
	aws.Elastic = elastic
	aws.Region = t.Spec.Region
	aws.RootVolumeSize = pick(p.RootVolume, a.RootVolume)
	aws.ImageID = t.agentImage(p)
	aws.RootDeviceName = t.Known.Roots[aws.ImageID]
	aws.TagKey, aws.TagValue = agentTag, t.Spec.Cluster
	aws.InstanceName = "det-" + t.Spec.Cluster + "-agent"
	aws.SSHKeyName = t.Spec.KeyPair
	aws.NetworkInterface = config.AWSNetwork{PublicIP: t.Spec.Network.PublicIP, SecurityGroupID: l.AgentGroup}
	for _, s := range t.places(p) {
		aws.Subnets = append(aws.Subnets, l.Subnets[s])
	}
	aws.IAMInstanceProfileARN = l.Profile
	aws.InstanceType, aws.InstanceTypes = p.InstanceTypes[0], nil
	if len(p.InstanceTypes) > 1 {
		aws.InstanceTypes = p.InstanceTypes
	}
	slots := t.slots(p)
	aws.InstanceSlots = &slots
	aws.CPUSlotsAllowed = p.CPUSlots
	aws.Spot = config.Spot{Enabled: p.Spot, FallbackToOnDemand: p.FallbackToOnDemand, MaxPrice: p.MaxPrice}
	aws.LogGroup, aws.Metrics = t.logGroup(), &t.Spec.Metrics
	for _, key := range slices.Sorted(maps.Keys(t.Spec.Tags)) {
		aws.CustomTags = append(aws.CustomTags, config.Tag{Key: key, Value: t.Spec.Tags[key]})
	}
	out.Provider = &config.Provider{AWS: aws}
	return out, nil
}

// elastic is what providers of all platforms have in common.
func (t *Target) elastic(p spec.AWSPool) (config.Elastic, error) {
	a := t.Spec.Agents
	e := config.DefaultElastic()
	// The master knows its own address; the certificate is for a name.
	e.MasterURL = fmt.Sprintf("https://local-ipv4:%d", masterPort)
	e.MasterCertName = t.certName()
	e.StartupScript = document.NewSecret(pickText(p.StartupScript, a.StartupScript))
	e.ContainerStartupScript = document.NewSecret(a.ContainerStartupScript)
	e.AgentDockerNetwork, e.AgentDockerRuntime = a.DockerNetwork, a.DockerRuntime
	e.AgentReconnectAttempts, e.AgentReconnectBackoff = a.ReconnectAttempts, a.ReconnectBackoff
	e.MaxIdleAgentPeriod, e.MaxAgentStartingPeriod = p.IdlePeriod, p.StartingPeriod
	e.MinInstances, e.MaxInstances = p.MinAgents, p.MaxAgents
	e.LaunchErrorTimeout, e.LaunchErrorRetries = p.LaunchErrorTimeout, p.LaunchErrorRetries
	settings := map[string]any{}
	if raw := a.Config.JSON(); raw != nil {
		if err := json.Unmarshal(raw, &settings); err != nil {
			return config.Elastic{}, fmt.Errorf("read agents.config: %w", err)
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
		return config.Elastic{}, fmt.Errorf("write agents.config: %w", err)
	}
	e.AgentConfigFileContents, err = document.RawJSON(data)
	return e, err
}

// overlaid writes m with the user's own settings over it, and reads the result
// back as the master will.
func (t *Target) overlaid(m config.Master) ([]byte, error) {
	data, err := document.MarshalWithSecrets(m) // startup scripts are of a type that hides itself
	if err != nil {
		return nil, fmt.Errorf("write master.yaml: %w", err)
	}
	if raw := t.Spec.MasterYAML.JSON(); raw != nil {
		if data, err = document.Overlay(data, raw); err != nil {
			return nil, fmt.Errorf("put master_yaml over master.yaml: %w", err)
		}
	}
	read, err := config.LoadGenerated(data, "master.yaml", nil)
	if err != nil {
		return nil, fmt.Errorf("read master.yaml as the master will: %w", err)
	}
	if err := untouched(m, read.Master); err != nil {
		return nil, err
	}
	if err := noSecrets(read.Master); err != nil {
		return nil, err
	}
	return data, nil
}

// untouched refuses to put anything over what the machine, its rules and its agents go
// by.
func untouched(m, over config.Master) error {
	var e document.Errors
	check := func(same bool, key string) {
		e.Check(same, "master_yaml."+key, "is the cluster's own: its machines and rules go by it; leave it out")
	}
	check(over.ClusterName == m.ClusterName, "cluster_name")
	check(over.Port == m.Port, "port")
	check(over.DataDir == m.DataDir, "data_dir")
	check(over.Binaries == m.Binaries, "binaries_dir")
	check(over.Security.TLS.Cert == m.Security.TLS.Cert && over.Security.TLS.Key == m.Security.TLS.Key, "security.tls")
	check(over.ResourceManager.Agent != nil && over.ResourceManager.Agent.ClusterName == m.ClusterName, "resource_manager.cluster_name")
	return e.Err()
}

// noSecrets refuses a master.yaml with a secret written out: the file is kept in
// the control bucket.
func noSecrets(m config.Master) error {
	for _, p := range m.ResourcePools {
		if v := p.Provider; v != nil && v.AWS != nil {
			v.AWS.StartupScript, v.AWS.ContainerStartupScript = document.Secret{}, document.Secret{}
		}
	}
	if _, err := document.Marshal(m); err != nil {
		return fmt.Errorf("keep master.yaml, in which master_yaml puts a secret that is not a reference: %w", err)
	}
	return nil
}

func pick(first, second int) int {
	if first != 0 {
		return first
	}
	return second
}

func pickText(first, second string) string {
	if first != "" {
		return first
	}
	return second
}
