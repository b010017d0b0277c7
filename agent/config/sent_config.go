package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/det-deploy/det-deploy/internal/document"
)

// Own lists the settings that are the agent's own to know: where its master is,
// and who it is itself. A master that sends a configuration does not change them.
func Own() []string {
	return []string{
		"config_file", "master_host", "master_port", "security", "agent_id", "resource_pool", "join_token_file",
		"machine_socket", "machine_secret_file", "cluster_id", "data_dir",
	}
}

// ParseSent reads settings that a master is to send, a JSON object, as an agent would
// on its machine, and lists those of them that are the agent's Own, which it passes
// over. Name is used in messages.
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
	settings["master_host"] = json.RawMessage(`"master"`) // every agent has one
	data, err := json.Marshal(settings)
	if err != nil {
		return Agent{}, own, fmt.Errorf("read %s: %w", name, err)
	}
	a, _, err = Parse(data, name)
	return a, own, err
}

// LoadUnder is LoadDocument with what a master sent over the file, setting by
// setting, and under what was given by flag and environment. Of what was sent, the
// agent's Own settings are passed over.
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

// putOver sets a key, or in a mapping the keys below it.
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
