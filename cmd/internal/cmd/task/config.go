package task

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/exit"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/api/client"
	"github.com/det-deploy/det-deploy/master/task/spec"
)

// readConfig reads the file and applies the flags. The master validates the result because it knows the
// keys and the cluster's defaults.
func (o *runOptions) readConfig() (*structpb.Struct, error) {
	tree, err := readConfig(o.ConfigFile)
	if err != nil {
		return nil, err
	}
	if err := o.applyFlags(tree); err != nil {
		return nil, err
	}
	if len(o.Args) > 0 {
		tree["entrypoint"] = o.Args
	}
	if tree["entrypoint"] == nil {
		return nil, usage.Errorf("%s has no entrypoint: add one, or put the command after --", o.ConfigFile)
	}
	// The configuration is sent as JSON, which has neither dates nor numeric keys.
	raw, err := json.Marshal(tree)
	if err != nil {
		return nil, usage.Errorf("cannot read %s: %w", o.ConfigFile, err)
	}
	s := &structpb.Struct{}
	if err := s.UnmarshalJSON(raw); err != nil {
		return nil, fmt.Errorf("cannot encode the task's configuration: %w", err)
	}
	return s, nil
}

func readConfig(path string) (map[string]any, error) {
	if path == "" {
		return map[string]any{}, nil
	}
	file, err := command.ReadYAML(path, "the task's configuration")
	if err != nil {
		return nil, err
	}
	return file.AsMap(), nil
}

// nameLines returns the mistakes in the lines of the configuration file, which the master does not know, if
// it has rejected the configuration for them. Otherwise it returns err.
func nameLines(err error, path string) error {
	e, ok := errors.AsType[*client.Error](err)
	if !ok || e.Kind != client.Invalid || path == "" {
		return err
	}
	raw, readErr := os.ReadFile(path)
	if readErr != nil {
		return err
	}
	c := spec.Default()
	if mistakes := document.Decode(raw, path, &c); mistakes != nil {
		return exit.With(exit.NotTheTask, usage.Check(mistakes))
	}
	return err
}

// applyFlags overrides keys of the file by the given flags.
func (o *runOptions) applyFlags(tree map[string]any) error {
	rows := []struct {
		flag  string
		path  string
		value any
	}{
		{"slots", "resources.slots", o.Slots},
		{"pool", "resources.resource_pool", o.Pool},
		{"priority", "resources.priority", o.Priority},
		{"image", "environment.image", o.Image},
		{"name", "description", o.Name},
		{"work-dir", "work_dir", o.WorkDir},
	}
	for _, r := range rows {
		if !o.Given(r.flag) {
			continue
		}
		if err := setPath(tree, r.path, r.value); err != nil {
			return err
		}
	}
	if err := o.layEnv(tree); err != nil {
		return err
	}
	return o.layMounts(tree)
}

// setPath sets the value at a path. It creates missing objects.
func setPath(tree map[string]any, path string, value any) error {
	keys := strings.Split(path, ".")
	for _, k := range keys[:len(keys)-1] {
		if tree[k] == nil {
			tree[k] = map[string]any{}
		}
		below, ok := tree[k].(map[string]any)
		if !ok {
			return usage.Errorf("%s in the task's configuration is not an object, so %s cannot be set", k, path)
		}
		tree = below
	}
	tree[keys[len(keys)-1]] = value
	return nil
}

// layEnv appends the variables of --env to those of the file; for duplicates, the last one takes
// precedence.
func (w *wanted) layEnv(tree map[string]any) error {
	if len(w.Env) == 0 {
		return nil
	}
	list, err := listVariables(tree)
	if err != nil {
		return err
	}
	for _, e := range w.Env {
		key, _, has := strings.Cut(e, "=")
		if key == "" {
			return usage.Errorf("--env %q: must be KEY=VALUE or KEY", e)
		}
		if !has {
			value, ok := os.LookupEnv(key)
			if !ok {
				return usage.Errorf("--env %s: the variable is not set here; use %s=VALUE", key, key)
			}
			e = key + "=" + value
		}
		list = append(list, e)
	}
	return setPath(tree, "environment.environment_variables", list)
}

// listVariables returns the file's variables as a list. It returns an error for an object because its keys
// may be either variables or kinds of devices.
func listVariables(tree map[string]any) ([]any, error) {
	env, ok := tree["environment"].(map[string]any)
	if !ok || env["environment_variables"] == nil {
		return nil, nil
	}
	if object, ok := env["environment_variables"].(map[string]any); ok && len(object) == 0 {
		return nil, nil // a printed configuration contains an empty object
	}
	list, ok := env["environment_variables"].([]any)
	if !ok {
		return nil, usage.Errorf("environment.environment_variables in the task's configuration is an object; for --env, change it to a list of KEY=VALUE")
	}
	return list, nil
}

// layMounts appends the directories of --mount to those of the file.
func (w *wanted) layMounts(tree map[string]any) error {
	if len(w.Mounts) == 0 {
		return nil
	}
	list, ok := tree["bind_mounts"].([]any)
	if !ok && tree["bind_mounts"] != nil {
		return usage.Errorf("bind_mounts in the task's configuration is not a list; for --mount, change it to a list")
	}
	for _, m := range w.Mounts {
		parts := strings.Split(m, ":")
		readOnly := len(parts) == 3 && parts[2] == "ro"
		if len(parts) == 3 && parts[2] == "rw" || readOnly {
			parts = parts[:2]
		}
		if len(parts) != 2 || !strings.HasPrefix(parts[0], "/") || parts[1] == "" {
			return usage.Errorf("--mount %q: must be HOST:CONTAINER or HOST:CONTAINER:ro, where HOST begins with /", m)
		}
		list = append(list, map[string]any{"host_path": parts[0], "container_path": parts[1], "read_only": readOnly})
	}
	tree["bind_mounts"] = list
	return nil
}
