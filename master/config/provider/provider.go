// Package provider defines the machines that a pool launches: on AWS, on Google Cloud, or as local
// processes.
package provider

import (
	"net/url"
	"time"

	"github.com/det-deploy/det-deploy/internal/document"
)

// Provider launches agents for waiting tasks and terminates idle ones.
type Provider struct {
	AWS   *AWS
	GCP   *GCP
	Local *Local
}

// Variants returns the providers.
func (p *Provider) Variants() []document.Variant {
	return []document.Variant{
		{Type: "aws", Field: &p.AWS},
		{Type: "gcp", Field: &p.GCP},
		{Type: "local", Field: &p.Local},
	}
}

// Type returns the type of the provider, such as "aws", or "" if none is set.
func (p Provider) Type() string {
	switch {
	case p.AWS != nil:
		return "aws"
	case p.GCP != nil:
		return "gcp"
	case p.Local != nil:
		return "local"
	}
	return ""
}

// Elastic holds the settings common to all providers.
type Elastic struct {
	MasterURL               string             `yaml:"master_url" doc:"Address agents use, scheme://host:port; host may be local-ipv4, public-ipv4, local-hostname, public-hostname on AWS and internal-ip, external-ip on GCP; by default the master's own address"`
	MasterCertName          string             `yaml:"master_cert_name" doc:"Name expected in the master's certificate"`
	StartupScript           document.Secret    `yaml:"startup_script" doc:"Script run on the machine before the agent starts"`
	ContainerStartupScript  document.Secret    `yaml:"container_startup_script" doc:"Script run on the machine after startup_script, with the proxies of agent_config_file_contents; agents have no container of their own"`
	Proxy                   Proxy              `yaml:"proxy" doc:"Proxies of the machines: their boot, det-deploy, Docker and, unless agent_config_file_contents says otherwise, tasks"`
	AgentDockerNetwork      string             `yaml:"agent_docker_network" doc:"Docker network of tasks, created if it does not exist"`
	AgentDockerRuntime      string             `yaml:"agent_docker_runtime" doc:"Docker runtime of tasks"`
	AgentDockerImage        string             `yaml:"agent_docker_image" doc:"No effect: agents run without a container of their own"`
	AgentFluentImage        string             `yaml:"agent_fluent_image" doc:"No effect: agents ship logs themselves"`
	AgentReconnectAttempts  int                `yaml:"agent_reconnect_attempts" doc:"Number of attempts to reconnect before a launched agent gives up; unlimited without hooks.on_connection_lost in agent_config_file_contents"`
	AgentReconnectBackoff   document.Seconds   `yaml:"agent_reconnect_backoff" doc:"Pause between these attempts"`
	AgentConfigFileContents document.Raw       `yaml:"agent_config_file_contents" doc:"agent.yaml of launched agents"`
	MaxIdleAgentPeriod      document.Duration  `yaml:"max_idle_agent_period" doc:"Idle time after which an agent's machine is terminated"`
	MaxAgentStartingPeriod  document.Duration  `yaml:"max_agent_starting_period" doc:"Time within which a machine's agent must join"`
	MinInstances            int                `yaml:"min_instances" doc:"Minimum number of machines"`
	MaxInstances            int                `yaml:"max_instances" doc:"Maximum number of machines"`
	LaunchErrorTimeout      *document.Duration `yaml:"launch_error_timeout" doc:"How long a launch error is shown on queued tasks"`
	LaunchErrorRetries      int                `yaml:"launch_error_retries" doc:"Number of consecutive launch errors before tasks fail"`
}

// DefaultElastic returns the default settings.
func DefaultElastic() Elastic {
	return Elastic{
		AgentDockerNetwork: "default", AgentDockerRuntime: "runc",
		AgentReconnectAttempts: 5, AgentReconnectBackoff: document.Seconds(5 * time.Second),
		MaxIdleAgentPeriod:     document.Duration(20 * time.Minute),
		MaxAgentStartingPeriod: document.Duration(20 * time.Minute),
		MaxInstances:           5,
	}
}

// Common returns the common settings of the provider, or nil if none is set.
func (p *Provider) Common() *Elastic {
	switch {
	case p.AWS != nil:
		return &p.AWS.Elastic
	case p.GCP != nil:
		return &p.GCP.Elastic
	case p.Local != nil:
		return &p.Local.Elastic
	}
	return nil
}

// Elastic returns the common settings of the provider.
func (p Provider) Elastic() Elastic {
	if e := p.Common(); e != nil {
		return *e
	}
	return Elastic{}
}

// Validate checks the provider.
func (p Provider) Validate(path string) document.Errors {
	e := p.Elastic().Validate(path)
	switch {
	case p.AWS != nil:
		e = append(e, p.AWS.Validate(path)...)
	case p.GCP != nil:
		e = append(e, p.GCP.Validate(path)...)
	case p.Local != nil:
		e = append(e, p.Local.Validate(path)...)
	}
	return e
}

// Validate checks the common settings.
func (p Elastic) Validate(path string) document.Errors {
	var e document.Errors
	at := func(key string) string { return document.Join(path, key) }
	if p.MasterURL != "" {
		u, err := url.Parse(p.MasterURL)
		ok := err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
		e.Check(ok, at("master_url"), "must be http:// or https:// with a host and no path (is %q)", p.MasterURL)
		e.Check(!ok || u.Path == "", at("master_url"), "must not have a path (is %q)", p.MasterURL)
		plain := !ok || u.User == nil && u.RawQuery == "" && u.Fragment == "" && !u.ForceQuery
		e.Check(plain, at("master_url"), "must consist of scheme, host and port: every machine of the pool, and every user who may list them, can read it")
	}
	e.Check(p.MaxIdleAgentPeriod > 0, at("max_idle_agent_period"), "must be more than 0 (is %v)", p.MaxIdleAgentPeriod)
	e.Check(p.MaxAgentStartingPeriod > 0, at("max_agent_starting_period"), "must be more than 0 (is %v)", p.MaxAgentStartingPeriod)
	e.Check(p.MinInstances >= 0, at("min_instances"), "must be at least 0 (is %d)", p.MinInstances)
	e.Check(p.MaxInstances > 0, at("max_instances"), "must be more than 0 (is %d)", p.MaxInstances)
	e.Check(p.MaxInstances >= p.MinInstances, at("max_instances"), "must be at least min_instances (%d < %d)", p.MaxInstances, p.MinInstances)
	e.Check(p.AgentReconnectAttempts > 0, at("agent_reconnect_attempts"), "must be more than 0 (is %d)", p.AgentReconnectAttempts)
	e.Check(p.AgentReconnectBackoff > 0, at("agent_reconnect_backoff"), "must be more than 0 (is %v)", p.AgentReconnectBackoff)
	e.Check(p.LaunchErrorRetries >= 0, at("launch_error_retries"), "must be at least 0 (is %d)", p.LaunchErrorRetries)
	e = append(e, p.Proxy.Validate(at("proxy"))...)
	e = append(e, p.AgentConfigFileContents.CheckMapping(at("agent_config_file_contents"))...)
	if t := p.LaunchErrorTimeout; t != nil {
		e.Check(*t >= 0, at("launch_error_timeout"), "must be at least 0 (is %v)", *t)
	}
	return e
}
