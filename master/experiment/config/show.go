package config

import (
	"fmt"

	"github.com/det-deploy/det-deploy/internal/document"
)

// secretKeys lists the storage settings that only trials receive. Show removes them instead of
// masking them: without keys a client requests the checkpoint from the master, but with masked keys
// its download fails.
func secretKeys() []string {
	return []string{"access_key", "secret_key", "connection_string", "credential"}
}

// Show returns the configuration in the JSON form of 0.38.1 without secrets. Images and variables
// are listed by device; the searcher and the storage contain only the settings of their kind.
func (x Experiment) Show() map[string]any {
	out := document.Show(x)
	storage := keepKeys(out["checkpoint_storage"], x.CheckpointStorage.usesKey)
	for _, key := range secretKeys() {
		delete(storage, key)
	}
	keepKeys(out["searcher"], x.Searcher.usesKey)
	keepKeys(out["resources"], func(key string) bool { return key != "slots" }) // cannot be set
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

// ShowToTrial returns Show with the storage's keys, which the trial's program needs to upload
// checkpoints. The result must only be sent to containers of the experiment.
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

// keepKeys deletes the keys of part that has rejects.
func keepKeys(part any, has func(string) bool) map[string]any {
	m, _ := part.(map[string]any)
	for key := range m {
		if !has(key) {
			delete(m, key)
		}
	}
	return m
}

// listed returns a copy of l that is not nil, so that JSON encodes it as a list and not as null.
func listed(l []string) []string { return append([]string{}, l...) }

// nullActions sets the action of policies without one to null.
func nullActions(policies any) {
	list, _ := policies.([]any)
	for _, p := range list {
		if m, ok := p.(map[string]any); ok && m["action"] == "" {
			m["action"] = nil
		}
	}
}

// Store encodes a configuration for Load. The result contains secrets and must only be written to
// the master's database.
func (x Experiment) Store() ([]byte, error) {
	data, err := document.MarshalWithSecrets(x)
	if err != nil {
		return nil, fmt.Errorf("store the configuration: %w", err)
	}
	return data, nil
}

// Load decodes the result of Store.
func Load(data []byte) (Experiment, error) {
	var x Experiment
	if err := document.Decode(data, "stored configuration", &x); err != nil {
		return x, fmt.Errorf("load the configuration: %w", err)
	}
	return x, nil
}
