package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/det-deploy/det-deploy/internal/document"
)

// Own returns the settings that a configuration from the master does not change: the master's
// address and the agent's identity.
func Own() []string {
	return []string{
		"config_file", "master_host", "master_port", "security", "agent_id", "resource_pool", "join_token_file",
		"machine_socket", "machine_secret_file", "cluster_id", "data_dir",
	}
}

// ParseSent parses settings that a master is going to send, a JSON object, like an agent does. It
// skips the agent's Own settings and returns their names. name is used in messages.
func ParseSent(sent []byte, name string) (a Agent, own []string, err error) {
	var settings map[string]json.RawMessage
	if err := json.Unmarshal(sent, &settings); err != nil {
		return Agent{}, nil, fmt.Errorf("read %s: %w", name, err)
	}
	if settings == nil { // null
		settings = make(map[string]json.RawMessage)
	}
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		if slices.Contains(Own(), key) {
			own = append(own, key)
			delete(settings, key)
		}
	}
	settings["master_host"] = json.RawMessage(`"master"`) // required in every configuration
	data, err := json.Marshal(settings)
	if err != nil {
		return Agent{}, own, fmt.Errorf("read %s: %w", name, err)
	}
	a, _, err = Parse(data, name)
	return a, own, err
}

// LoadUnder is like LoadDocument, but merges settings sent by a master: they override the file and
// are overridden by flags and environment variables. It skips the agent's Own settings.
func LoadUnder(files []string, sent []byte, given []document.Given) (Loaded, error) {
	d, err := document.First("agent.yaml", files, Paths())
	if err != nil {
		return Loaded{}, err
	}
	over, err := document.Parse(sent, "agent.yaml from the master")
	if err != nil {
		return Loaded{}, err
	}
	own, from := d.Root(), over.Root()
	for _, key := range from.Keys() {
		if n, found := from.Get(key); found && !slices.Contains(Own(), key) {
			putOver(own, key, n)
		}
	}
	return decodeConfig(d, given)
}

// putOver sets a key; mappings are merged.
func putOver(into document.Map, key string, n document.Node) {
	old, found := into.Get(key)
	if found {
		have, isMap := old.Map()
		want, wantMap := n.Map()
		if isMap && wantMap {
			for _, k := range want.Keys() {
				if below, found := want.Get(k); found {
					putOver(have, k, below)
				}
			}
			return
		}
	}
	_, _ = into.Take(key)
	into.Put(key, n)
}
