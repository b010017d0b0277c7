package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	agentconfig "github.com/det-deploy/det-deploy/agent/config"
	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/master/config/provider"
	"github.com/det-deploy/det-deploy/master/config/security"
)

const loopback = "127.0.0.1"

// servicesOrigin returns the origin of the services of tasks on a cluster that only this machine reaches: the
// address, so that their pages have no access to those at the name localhost.
func servicesOrigin(s Spec) string {
	scheme := "http"
	if s.TLS {
		scheme = "https"
	}
	return fmt.Sprintf("%s://%s:%d", scheme, loopback, s.Port)
}

// masterYAML returns the master.yaml for s. It contains references to secrets, but no secrets.
func masterYAML(s Spec, p Place, tasksAt string) ([]byte, error) {
	m := config.DefaultMaster()
	m.ClusterName = s.Cluster
	m.Port = s.Port
	if tasksAt == "" && s.AgentAddress == "" { // only this machine needs to reach it
		m.BindIP = loopback
		m.Proxy.Origin = servicesOrigin(s)
	}
	// Containers of this machine reach the master on the bridge.
	m.Security.AllowPlainHTTP = tasksAt != "" && !s.TLS
	m.DataDir = filepath.Join(p.dataDir(), "master")
	m.Telemetry.Enabled = false // a local cluster reports to no server
	password, err := secret.Parse("file:" + p.Password())
	if err != nil {
		return nil, fmt.Errorf("refer to %s: %w", p.Password(), err)
	}
	m.Security.InitialUserPassword = password
	if !p.onePassword() {
		if m.Security.DeterminedPassword, err = secret.Parse("file:" + p.determinedPassword()); err != nil {
			return nil, fmt.Errorf("refer to %s: %w", p.determinedPassword(), err)
		}
	}
	m.Security.TrustUsers = s.Isolated || s.TrustUsers
	if s.TLS {
		m.Security.TLS = security.TLS{Cert: p.pathOf("tls", certificateFile), Key: p.pathOf("tls", keyFile)}
	}
	if s.DBURLFile != "" {
		if m.DB.URL, err = secret.Parse("file:" + s.DBURLFile); err != nil {
			return nil, fmt.Errorf("refer to %s: %w", s.DBURLFile, err)
		}
	}
	m.TaskContainerDefaults.HarnessWheel = container.Wheel{File: s.HarnessWheel}
	if s.Elastic > 0 {
		if err := elasticPool(&m, s, tasksAt); err != nil {
			return nil, err
		}
	}
	var storage config.SharedFSStorage
	storage.SetDefaults()
	storage.HostPath = filepath.Join(p.dataDir(), "checkpoints")
	if !hasKey(s.MasterConfig, "checkpoint_storage") { // its keys depend on its type
		m.CheckpointStorage = &config.CheckpointStorage{SharedFS: &storage}
	}
	out, err := document.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("write master.yaml: %w", err)
	}
	if s.MasterConfig == "" {
		return out, nil
	}
	return overlaySettings(m, out, s.MasterConfig)
}

// ElasticPool is the pool whose agents the master starts on demand.
const ElasticPool = "elastic"

// elasticIdle is the idle timeout of such an agent: long enough to observe it wait between two
// tasks, and short enough to observe its termination.
const elasticIdle = time.Minute

// elasticPool adds the elastic pool. It is the default pool if no other agents are configured.
func elasticPool(m *config.Master, s Spec, tasksAt string) error {
	var p provider.Local
	p.SetDefaults()
	p.MaxInstances, p.MaxIdleAgentPeriod = s.Elastic, document.Duration(elasticIdle)
	// Several agents cannot share real devices.
	p.ArtificialSlots = max(1, s.Slots)
	p.MasterCertName = s.OwnTLS.Name
	sent := map[string]any{}
	if tasksAt != "" {
		sent["container_master_host"] = tasksAt
	}
	if !s.Isolated {
		sent["trust_users"] = true
	}
	if len(sent) > 0 {
		data, err := json.Marshal(sent)
		if err != nil {
			return fmt.Errorf("write master.yaml: %w", err)
		}
		raw, err := document.RawJSON(data)
		if err != nil {
			return fmt.Errorf("write master.yaml: %w", err)
		}
		p.AgentConfigFileContents = raw
	}
	pool := config.DefaultPool(ElasticPool)
	pool.Description = "agents that are started when tasks wait and stopped when they idle"
	pool.Provider = &provider.Provider{Local: &p}
	if s.Agents > 0 {
		m.ResourcePools = []config.Pool{config.DefaultPool("default"), pool}
		return nil
	}
	m.ResourcePools = []config.Pool{pool}
	m.ResourceManager.Agent.DefaultPools = config.DefaultPools{Aux: ElasticPool, Compute: ElasticPool}
	return nil
}

// agentYAML returns the agent.yaml of an agent of s.
func agentYAML(s Spec, p Place, name, tasksAt string) ([]byte, error) {
	a := agentconfig.DefaultAgent()
	a.MasterHost, a.MasterPort = loopback, s.Port
	a.ContainerMasterHost = tasksAt
	a.AgentID, a.ResourcePool = s.Cluster+"-"+name, "default"
	a.ArtificialSlots = s.Slots
	a.DataDir = filepath.Join(p.agentDir(name), "data")
	a.JoinTokenFile = p.joinToken(name)
	a.ProtectedPaths = p.closedPaths()
	// Without isolation, the master decides whose tasks run.
	a.TrustUsers = !s.Isolated
	if s.TLS {
		a.Security.TLS.Enabled, a.Security.TLS.MasterCert, a.Security.TLS.MasterCertName = true, p.CA(), s.OwnTLS.Name
	}
	out, err := document.Marshal(a)
	if err != nil {
		return nil, fmt.Errorf("write agent.yaml: %w", err)
	}
	return out, nil
}

func (p Place) joinToken(name string) string { return filepath.Join(p.agentDir(name), "join-token") }

func (p Place) agentYAML(name string) string { return filepath.Join(p.agentDir(name), "agent.yaml") }

// agentConfig and masterConfig return functions for resources, which compare the result with the
// live files.
func agentConfig(s Spec, p Place, name, tasksAt string) func(context.Context) ([]byte, error) {
	return func(context.Context) ([]byte, error) { return agentYAML(s, p, name, tasksAt) }
}

func masterConfig(s Spec, p Place, tasksAt string) func(context.Context) ([]byte, error) {
	return func(context.Context) ([]byte, error) { return masterYAML(s, p, tasksAt) }
}

// agentPool is the pool of the cluster's agents.
const agentPool = "default"

// overlaySettings merges the user's settings over m, given as data, and parses the result as the
// master will.
func overlaySettings(m config.Master, data []byte, over string) ([]byte, error) {
	if _, err := document.Parse([]byte(over), "--master-config-file"); err != nil {
		return nil, err
	}
	data, err := document.Overlay(data, []byte(over))
	if err != nil {
		return nil, fmt.Errorf("merge --master-config-file into master.yaml: %w", err)
	}
	read, err := config.LoadGenerated(data, "master.yaml", nil)
	if problems, ok := errors.AsType[document.Errors](err); ok {
		err = inFragment(over, problems)
	}
	if err != nil {
		return nil, fmt.Errorf("validate master.yaml with --master-config-file: %w", err)
	}
	if err := refuseOwnKeys(m, read.Master); err != nil {
		return nil, err
	}
	if _, err := document.Marshal(read.Master); err != nil {
		return nil, fmt.Errorf("cannot store --master-config-file: write secrets as file:/path or env:NAME: %w", err)
	}
	return data, nil
}

// inFragment adds line numbers of the user's fragment to the problems that it causes.
func inFragment(over string, problems document.Errors) document.Errors {
	return config.LocateInFragment(over, "--"+ConfigSetting, problems)
}

// hasKey reports whether settings contain a key. It returns false if they cannot be parsed.
func hasKey(over, key string) bool {
	d, err := document.Parse([]byte(over), "--"+ConfigSetting)
	if over == "" || err != nil {
		return false
	}
	_, found := d.Root().Get(key)
	return found
}

// refuseOwnKeys returns an error if the user overrides settings on which the cluster's own
// processes depend.
func refuseOwnKeys(m, over config.Master) error {
	var wrong document.Errors
	own := func(same bool, key, text string) {
		if !same {
			wrong = append(wrong, document.Problem{File: "--" + ConfigSetting, Path: key, Text: text})
		}
	}
	own(over.ClusterName == m.ClusterName, "cluster_name", "is set by --cluster-id; remove it")
	own(over.Port == m.Port, "port", "is set by --port; remove it")
	own(over.DataDir == m.DataDir, "data_dir", "is in the cluster's directory, which XDG_STATE_HOME selects; remove it")
	own(over.Security.TLS.Cert == m.Security.TLS.Cert && over.Security.TLS.Key == m.Security.TLS.Key, "security.tls", "is set by --tls, or --tls-cert-file and --tls-key; remove it")
	own(over.Security.TrustUsers == m.Security.TrustUsers, "security.trust_users", "is set by --trust-users; remove it")
	own(sameSecret(over.Security.InitialUserPassword, m.Security.InitialUserPassword), "security.initial_user_password",
		"is generated by up; remove it, and change the password with `det-deploy user change-password`")
	own(over.DB.Kind() == m.DB.Kind() && over.DB.Host == "" && sameSecret(over.DB.URL, m.DB.URL), "db", "is set by --db-url-file; remove it")
	own(over.ResourceManager.Agent != nil, "resource_manager", "must be of type agent, because the cluster's agents are processes of this machine")
	own(hasPool(over, agentPool) || !hasPool(m, agentPool), "resource_pools", "must contain the pool default, whose agents --agents starts")
	own(hasPool(over, ElasticPool) || !hasPool(m, ElasticPool), "resource_pools", "must contain the pool elastic, whose agents --elastic allows, with its provider")
	own(hasPool(m, ElasticPool) || !hasPool(over, ElasticPool), "resource_pools", "has the pool elastic, which is created by --elastic; rename it")
	return wrong.Err()
}

func sameSecret(a, b secret.Value) bool {
	x, _ := a.Ref()
	y, _ := b.Ref()
	return x == y && a.IsZero() == b.IsZero()
}

func hasPool(m config.Master, name string) bool {
	return len(m.ResourcePools) == 0 && name == agentPool ||
		slices.ContainsFunc(m.ResourcePools, func(p config.Pool) bool { return p.Name == name })
}
