package config

import (
	"fmt"

	"github.com/det-deploy/det-deploy/internal/document"
)

// secretKeys are the storage's settings that reach trials alone. They are left out of what is
// shown, not masked: a client without keys asks the master for checkpoints, one with wrong keys
// fails.
func secretKeys() []string {
	return []string{"access_key", "secret_key", "connection_string", "credential"}
}

// Show is the whole configuration as JSON-able maps in the form of 0.38.1, without secrets: images
// and variables by device, and of searcher and storage what their kind has.
func (x Experiment) Show() map[string]any {
	out := document.Show(x)
	storage := keepKeys(out["checkpoint_storage"], x.CheckpointStorage.usesKey)
	for _, key := range secretKeys() {
		delete(storage, key)
	}
	keepKeys(out["searcher"], x.Searcher.usesKey)
	keepKeys(out["resources"], func(key string) bool { return key != "slots" }) // it cannot be set
	if environment, ok := out["environment"].(map[string]any); ok {
		image, variables := x.Environment.Image, x.Environment.Variables
		environment["image"] = map[string]any{"cpu": image.CPU, "cuda": image.CUDA, "rocm": image.ROCm}
		environment["environment_variables"] = map[string]any{"cpu": listed(variables.CPU), "cuda": listed(variables.CUDA), "rocm": listed(variables.ROCm)}
	}
	for _, key := range []string{"pbs", "slurm"} {
		if out[key] == nil {
			out[key] = map[string]any{}
		}
	}
	nullActions(out["log_policies"])
	return out
}

// ShowToTrial is Show with the keys of the storage, which a trial's program uploads checkpoints with.
// It goes into containers of the experiment and nowhere else.
func (x Experiment) ShowToTrial() map[string]any {
	out, s := x.Show(), x.CheckpointStorage
	storage, _ := out["checkpoint_storage"].(map[string]any)
	for i, value := range []*document.Secret{s.AccessKey, s.SecretKey, s.ConnectionString, s.Credential} {
		if key := secretKeys()[i]; value != nil && s.usesKey(key) {
			storage[key] = value.Reveal()
		}
	}
	return out
}

// keepKeys removes from a part what it does not have.
func keepKeys(part any, has func(string) bool) map[string]any {
	m, _ := part.(map[string]any)
	for key := range m {
		if !has(key) {
			delete(m, key)
		}
	}
	return m
}

// listed is a list that JSON does not write as null.
func listed(l []string) []string { return append([]string{}, l...) }

// nullActions shows a policy without an action as one.
func nullActions(policies any) {
	list, _ := policies.([]any)
	for _, p := range list {
		if m, ok := p.(map[string]any); ok && m["action"] == "" {
			m["action"] = nil
		}
	}
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
