// Package provision prepares the configuration of launched agents: agent.yaml and startup scripts,
// from the provider settings of their pool in master.yaml.
package provision

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"

	agentconfig "github.com/det-deploy/det-deploy/agent/config"
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/config/provider"
)

// Config is the configuration of the agents of one pool.
type Config struct {
	// AgentYAML is an agent.yaml, written as JSON.
	AgentYAML   []byte
	Preparation *agentv1.Preparation
}

// Configs returns the configurations of all pools with a provider. It returns an error if an agent
// would reject one.
func Configs(cfg config.Master, log *slog.Logger) (map[string]Config, error) {
	all := make(map[string]Config)
	for _, p := range cfg.ResourcePools {
		if p.Provider == nil {
			continue
		}
		yaml, err := agentYAML(*p.Provider, log.With("pool", p.Name))
		if err != nil {
			return nil, fmt.Errorf("resource pool %q: provider.agent_config_file_contents: %w", p.Name, err)
		}
		e := p.Provider.Elastic()
		all[p.Name] = Config{yaml, &agentv1.Preparation{
			StartupScript:          []byte(e.StartupScript.Reveal()),
			ContainerStartupScript: []byte(e.ContainerStartupScript.Reveal()),
		}}
	}
	return all, nil
}

// Problems lists the agent settings in cfg that an agent would reject.
func Problems(cfg config.Master) document.Errors {
	var e document.Errors
	for i, p := range cfg.ResourcePools {
		if p.Provider == nil {
			continue
		}
		if _, err := agentYAML(*p.Provider, slog.New(slog.DiscardHandler)); err != nil {
			e.Add(document.Join(document.Index("resource_pools", i), "provider.agent_config_file_contents"), "is not a valid agent configuration: %v", err)
		}
	}
	return e
}

// agentYAML merges agent_config_file_contents over the provider's settings.
func agentYAML(p provider.Provider, log *slog.Logger) ([]byte, error) {
	e := p.Elastic()
	doc := map[string]any{}
	if raw := e.AgentConfigFileContents.JSON(); len(raw) > 0 {
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		if err := dec.Decode(&doc); err != nil {
			return nil, fmt.Errorf("read it: %w", err)
		}
	}
	for key := range doc {
		if slices.Contains(agentconfig.Own(), key) {
			log.Warn("a setting of agent_config_file_contents has no effect: launched agents get it from their master", "setting", key)
			delete(doc, key)
		}
	}
	for key, value := range agentDefaults(p) {
		if _, given := doc[key]; !given {
			doc[key] = value
		}
	}
	yaml, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	return yaml, checkAgent(yaml)
}

// agentDefaults returns the provider's settings for its agents. An agent retries its connection for
// ever, because an upgrade of the master may outlast any number of attempts. Only where the machine
// acts when its agent gives up does the number of attempts apply.
func agentDefaults(p provider.Provider) map[string]any {
	e := p.Elastic()
	out := map[string]any{
		"docker_network": e.AgentDockerNetwork, "docker_runtime": e.AgentDockerRuntime,
		"agent_reconnect_attempts": 0, "agent_reconnect_backoff": e.AgentReconnectBackoff.String(),
	}
	if e.ActsWhenLost() {
		out["agent_reconnect_attempts"] = e.AgentReconnectAttempts
	}
	switch {
	case p.Local != nil && p.Local.ArtificialSlots > 0:
		out["artificial_slots"] = p.Local.ArtificialSlots
	case p.Local != nil:
		out["slot_type"] = agentconfig.SlotNone
	case p.AWS != nil:
		out["slot_type"] = awsSlotType(*p.AWS)
	case p.GCP != nil:
		out["slot_type"] = gcpSlotType(*p.GCP)
	}
	return out
}

// awsSlotType returns the slot type to configure. The type is explicit so that a machine with a
// broken driver does not join with its CPU in place of its GPUs.
func awsSlotType(p provider.AWS) string {
	kind := p.Types()[0]
	gpus, known := provider.AWSSlots(kind)
	slots, _ := p.Slots(kind)
	switch {
	case known && gpus > 0:
		return agentconfig.SlotCUDA
	case slots == 0:
		return agentconfig.SlotNone
	case known:
		return agentconfig.SlotCPU
	default:
		return agentconfig.SlotAuto
	}
}

// gcpSlotType is awsSlotType for Compute Engine, where the number of GPUs is always known.
func gcpSlotType(p provider.GCP) string {
	first := p.Machines()[0]
	switch {
	case p.GPUs(first) > 0:
		return agentconfig.SlotCUDA
	case p.Slots(first) > 0:
		return agentconfig.SlotCPU
	}
	return agentconfig.SlotNone
}

// checkAgent returns an error if an agent would reject the configuration.
func checkAgent(yaml []byte) error {
	a, _, err := agentconfig.ParseSent(yaml, "agent_config_file_contents")
	if err != nil {
		return err
	}
	if left := agentconfig.Unbuilt(a); len(left) > 0 {
		return fmt.Errorf("%s: %s", left[0].Path, left[0].Text)
	}
	return nil
}
