package spec

import (
	"encoding/json"
	"fmt"

	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/master/config/document"
)

// Show is the whole configuration as clients print it, secrets masked.
func Show(c Config) (*structpb.Struct, error) {
	data, err := json.Marshal(document.Show(c))
	if err != nil {
		return nil, fmt.Errorf("show the configuration: %w", err)
	}
	out := &structpb.Struct{}
	if err := out.UnmarshalJSON(data); err != nil {
		return nil, fmt.Errorf("show the configuration: %w", err)
	}
	return out, nil
}

// Store writes a configuration so that Load gives it back, with the registry's
// password: it is for the master's own store and goes nowhere else.
func Store(c Config) (json.RawMessage, error) {
	text, err := document.MarshalWithSecrets(c)
	if err != nil {
		return nil, fmt.Errorf("store the configuration: %w", err)
	}
	var tree map[string]any
	if err := yaml.Unmarshal(text, &tree); err != nil {
		return nil, fmt.Errorf("store the configuration: %w", err)
	}
	data, err := json.Marshal(tree)
	if err != nil {
		return nil, fmt.Errorf("store the configuration: %w", err)
	}
	return data, nil
}

// Load reads what Store wrote.
func Load(data json.RawMessage) (Config, error) {
	c, err := decodeJSON(data)
	if err != nil {
		return c, fmt.Errorf("load the configuration: %w", err)
	}
	return c, nil
}

// Forget takes the registry's password out of a stored configuration that will not
// be run any more.
func Forget(data json.RawMessage) (json.RawMessage, error) {
	c, err := Load(data)
	if err != nil {
		return nil, err
	}
	if c.Environment.RegistryAuth == nil {
		return data, nil
	}
	c.Environment.RegistryAuth = nil
	return Store(c)
}
