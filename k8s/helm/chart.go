package helm

import (
	"fmt"
	"io/fs"
	"slices"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
)

// Release is what is wanted: a chart, under a name, with values.
type Release struct {
	Name      string
	Namespace string
	// Values are the user's, merged; the chart's own lie beneath them.
	Values map[string]any
	// Chart has Chart.yaml at its root.
	Chart fs.FS
	// Version and AppVersion replace the chart's where they are set: a chart that
	// is part of the program has the program's.
	Version, AppVersion string
	// Without are files of the chart that are left out, because the caller does itself
	// what they are for.
	Without []string
}

// loadChart reads the chart. It is read again for each operation, because Helm changes
// what it is given.
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

// copyValues is a deep copy, because Helm writes into its input.
func (r Release) copyValues() map[string]any {
	out, _ := cloneValue(r.Values).(map[string]any) // a map stays one
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
