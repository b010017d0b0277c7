package local

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/config/document"
)

// masterYAML is what the master of s reads. Secrets are references: the file has
// none in it.
func masterYAML(s Spec, p Place) ([]byte, error) {
	m := config.DefaultMaster()
	m.ClusterName = s.Cluster
	m.Port = s.Port
	m.DataDir = filepath.Join(p.data(), "master")
	m.Telemetry.Enabled = false // a cluster on one's own machine reports to nobody
	password, err := secret.Parse("file:" + p.Password())
	if err != nil {
		return nil, fmt.Errorf("refer to %s: %w", p.Password(), err)
	}
	m.Security.InitialUserPassword = password
	if s.TLS {
		m.Security.TLS = config.TLS{Cert: p.path("tls", "cert.pem"), Key: p.path("tls", "key.pem")}
	}
	if s.DBURLFile != "" {
		if m.DB.URL, err = secret.Parse("file:" + s.DBURLFile); err != nil {
			return nil, fmt.Errorf("refer to %s: %w", s.DBURLFile, err)
		}
	}
	var storage config.SharedFSStorage
	storage.SetDefaults()
	storage.HostPath = filepath.Join(p.data(), "checkpoints")
	m.CheckpointStorage = &config.CheckpointStorage{SharedFS: &storage}
	out, err := document.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("write master.yaml: %w", err)
	}
	return out, nil
}

// agentYAML is what agent n of s reads.
func agentYAML(s Spec, p Place, name string) ([]byte, error) {
	a := agentFile{
		MasterHost: "127.0.0.1", MasterPort: s.Port,
		AgentID: s.Cluster + "-" + name, ResourcePool: "default",
		ContainerRuntime: "auto",
		ArtificialSlots:  s.Slots,
		DataDir:          filepath.Join(p.agent(name), "data"),
		JoinTokenFile:    p.token(name),
	}
	if s.TLS {
		a.Security.TLS = agentTLS{Enabled: true, MasterCert: p.CA()}
	}
	out, err := document.Marshal(a)
	if err != nil {
		return nil, fmt.Errorf("write agent.yaml: %w", err)
	}
	return out, nil
}

// agentFile is the part of an agent.yaml that a local agent needs.
type agentFile struct {
	MasterHost       string        `yaml:"master_host"`
	MasterPort       int           `yaml:"master_port"`
	AgentID          string        `yaml:"agent_id"`
	ResourcePool     string        `yaml:"resource_pool"`
	ContainerRuntime string        `yaml:"container_runtime"`
	ArtificialSlots  int           `yaml:"artificial_slots"`
	DataDir          string        `yaml:"data_dir"`
	JoinTokenFile    string        `yaml:"join_token_file"`
	Security         agentSecurity `yaml:"security"`
}

type agentSecurity struct {
	TLS agentTLS `yaml:"tls"`
}

type agentTLS struct {
	Enabled    bool   `yaml:"enabled"`
	MasterCert string `yaml:"master_cert"`
}

func (p Place) token(name string) string     { return filepath.Join(p.agent(name), "join-token") }
func (p Place) agentYAML(name string) string { return filepath.Join(p.agent(name), "agent.yaml") }

// agentConfig and masterConfig are for resources, which compare with what is there.
func agentConfig(s Spec, p Place, name string) func(context.Context) ([]byte, error) {
	return func(context.Context) ([]byte, error) { return agentYAML(s, p, name) }
}

func masterConfig(s Spec, p Place) func(context.Context) ([]byte, error) {
	return func(context.Context) ([]byte, error) { return masterYAML(s, p) }
}
