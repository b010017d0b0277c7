package helm

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/Masterminds/sprig/v3"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"sigs.k8s.io/yaml"

	"github.com/det-deploy/det-deploy/templates/engine"
)

// maxIncludes is how often includes may be within each other, as in Helm.
const maxIncludes = 1000

// renderFiles executes the templates of a chart as Helm does, by path. Helm's own engine
// is left out of the program: see templates/engine. So are what charts of ours do without:
// methods of .Files and .Capabilities, tpl, lookup, and charts within the chart.
func renderFiles(c *chart.Chart, values chartutil.Values) (map[string]string, error) {
	if len(c.Dependencies()) > 0 || len(c.CRDObjects()) > 0 {
		return nil, errors.New("the chart has charts or resource definitions within it, which this program does not install: use Helm's own command")
	}
	values["Chart"] = struct {
		chart.Metadata

		IsRoot bool
	}{*c.Metadata, true}
	var set *engine.Set
	set = engine.New(chartFunctions(func(name string, data any) (string, error) { return set.Execute(name, data) }))
	texts := make(map[string]string, len(c.Templates))
	for _, t := range c.Templates {
		texts[path.Join(c.ChartFullPath(), t.Name)] = string(t.Data)
	}
	names := slices.Sorted(maps.Keys(texts))
	for _, name := range names {
		if err := set.Parse(name, texts[name]); err != nil {
			return nil, fmt.Errorf("read the chart: %w", err)
		}
	}
	out := make(map[string]string, len(names))
	for _, name := range names {
		if strings.HasPrefix(path.Base(name), "_") {
			continue // it only defines what others include
		}
		values["Template"] = map[string]any{"Name": name, "BasePath": path.Join(c.ChartFullPath(), "templates")}
		text, err := set.Execute(name, map[string]any(values))
		if err != nil {
			return nil, explainTemplate(err)
		}
		out[name] = strings.ReplaceAll(text, "<no value>", "") // what is not given is empty
	}
	return out, nil
}

// failure is what a template says of the values it is given.
type failure string

// Error is the template's sentence.
func (f failure) Error() string { return string(f) }

// explainTemplate is an error in the words of `helm install`: of a failure of the
// template's own the sentence and where it was noticed, of all else the whole way.
func explainTemplate(err error) error {
	at, found := errors.AsType[*engine.Error](err)
	said, failed := errors.AsType[failure](err)
	if !found || !failed {
		return err
	}
	return fmt.Errorf("execution error at (%s): %w", at.Location, said)
}

// chartFunctions are the functions that Helm gives to templates.
func chartFunctions(execute func(name string, data any) (string, error)) map[string]any {
	funcs := map[string]any(sprig.TxtFuncMap())
	delete(funcs, "env") // a chart is the same on every machine
	delete(funcs, "expandenv")
	depth := 0
	maps.Copy(funcs, map[string]any{
		"include": func(name string, data any) (string, error) {
			if depth == maxIncludes {
				return "", fmt.Errorf("rendering template has a nested reference name: %s", name)
			}
			depth++
			defer func() { depth-- }()
			return execute(name, data)
		},
		"fail": func(sentence string) (string, error) { return "", failure(sentence) },
		"required": func(sentence string, v any) (any, error) {
			if v == nil || v == "" {
				return v, failure(sentence)
			}
			return v, nil
		},
		"getHostByName": func(string) string { return "" },
		"toYaml":        toYAML,
		"toJson":        toJSON,
		"fromYaml":      fromYAML,
		"fromYamlArray": fromYAMLArray,
		"fromJson":      fromJSON,
		"fromJsonArray": fromJSONArray,
	})
	return funcs
}

// What cannot be written is empty, and what cannot be read is its error: charts test for
// both.

func toYAML(v any) string {
	text, err := yaml.Marshal(v)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(text), "\n")
}

func toJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(text)
}

func fromYAML(text string) map[string]any {
	out := make(map[string]any)
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		out["Error"] = err.Error()
	}
	return out
}

func fromYAMLArray(text string) []any {
	out := []any{}
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		return []any{err.Error()}
	}
	return out
}

func fromJSON(text string) map[string]any {
	out := make(map[string]any)
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		out["Error"] = err.Error()
	}
	return out
}

func fromJSONArray(text string) []any {
	out := []any{}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		return []any{err.Error()}
	}
	return out
}
