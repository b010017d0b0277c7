package command

import (
	"encoding/json"
	"errors"

	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/internal/document"
)

// ReadYAML reads a YAML file with a mapping. what describes it in errors, such as "the template".
func ReadYAML(path, what string) (*structpb.Struct, error) {
	raw, err := usage.ReadFile(what, path)
	if err != nil {
		return nil, err
	}
	if _, err := document.Parse(raw, path); err != nil {
		return nil, usage.Check(err)
	}
	tree := map[string]any{}
	err = yaml.Unmarshal(raw, &tree)
	if tree == nil { // an explicit null
		tree = map[string]any{}
	}
	// The API takes JSON, which has neither dates nor numeric keys.
	raw, jsonErr := json.Marshal(tree)
	out := &structpb.Struct{}
	if err := errors.Join(err, jsonErr, out.UnmarshalJSON(raw)); err != nil {
		return nil, usage.Errorf("cannot read %s: %w", path, err)
	}
	return out, nil
}
