package helm

import (
	"fmt"
	"io/fs"
	"slices"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
)

// Release describes the desired release: a chart, a name and values.
type Release struct {
	Name      string
	Namespace string
	// Values are the user's merged values. They override the chart's defaults.
	Values map[string]any
	// Chart has Chart.yaml at its root.
	Chart fs.FS
	// Version and AppVersion, if set, replace those of the chart. The built-in chart has the
	// program's version.
	Version, AppVersion string
	// Without lists files of the chart to omit, because the caller performs their function itself.
	Without []string
}

// loadChart loads the chart. Each operation loads it again, because Helm modifies it.
func (r Release) loadChart() (*chart.Chart, error) {
	var files []*loader.BufferedFile
	err := fs.WalkDir(r.Chart, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || slices.Contains(r.Without, path) {
			return err
		}
		data, err := fs.ReadFile(r.Chart, path)
		if err != nil {
			return err
		}
		files = append(files, &loader.BufferedFile{Name: path, Data: data})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the chart: %w", err)
	}
	c, err := loader.LoadFiles(files)
	if err != nil {
		return nil, fmt.Errorf("read the chart: %w", err)
	}
	if r.Version != "" {
		c.Metadata.Version = r.Version
	}
	if r.AppVersion != "" {
		c.Metadata.AppVersion = r.AppVersion
	}
	return c, nil
}

// copyValues returns a deep copy of the values, because Helm modifies its input.
func (r Release) copyValues() map[string]any {
	out, _ := cloneValue(r.Values).(map[string]any) // a clone of a map is a map
	if out == nil {
		out = make(map[string]any)
	}
	return out
}

func cloneValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if v == nil {
			return v
		}
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = cloneValue(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = cloneValue(e)
		}
		return out
	}
	return v
}
