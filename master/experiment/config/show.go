package config

import (
	"fmt"

	"github.com/det-deploy/det-deploy/document"
)

// secretKeys are the storage's settings that reach trials alone. They are left out of what is
// shown, not masked: a client without keys asks the master for checkpoints, one with wrong keys
// fails.
func secretKeys() []string {
	return []string{"access_key", "secret_key", "connection_string", "credential"}
}

// Show is the whole configuration as JSON-able maps, without secrets.
func (x Experiment) Show() map[string]any {
	out := document.Show(x)
	storage, _ := out["checkpoint_storage"].(map[string]any)
	for key := range storage {
		if !x.CheckpointStorage.usesKey(key) {
			delete(storage, key)
		}
	}
	for _, key := range secretKeys() {
		delete(storage, key)
	}
	searcher, _ := out["searcher"].(map[string]any)
	for key := range searcher {
		if !x.Searcher.usesKey(key) {
			delete(searcher, key)
		}
	}
	if resources, ok := out["resources"].(map[string]any); ok {
		delete(resources, "slots") // it cannot be set
	}
	return out
}

// Store writes a configuration so that Load gives it back, secrets included: it is for the
// master's own store and goes nowhere else.
func (x Experiment) Store() ([]byte, error) {
	data, err := document.MarshalWithSecrets(x)
	if err != nil {
		return nil, fmt.Errorf("store the configuration: %w", err)
	}
	return data, nil
}

// Load reads what Store wrote.
func Load(data []byte) (Experiment, error) {
	var x Experiment
	if err := document.Decode(data, "stored configuration", &x); err != nil {
		return x, fmt.Errorf("load the configuration: %w", err)
	}
	return x, nil
}
