package config

import (
	"fmt"
	"strings"

	"github.com/det-deploy/det-deploy/internal/document"
)

// These limits are far above the sizes of real configurations, because code and data are sent as
// files. Parsing 100,000 values takes seconds of CPU time.
const (
	mostBytes  = 1 << 20
	mostValues = 20_000
)

// Parse reads a configuration and applies options, each of the form "searcher.max_trials=8" with a
// YAML value, as given to `--config` of the CLI. A mapping is merged. The error is a
// document.Errors.
func Parse(data []byte, name string, options []string) (*document.Document, error) {
	if len(data) > mostBytes {
		return nil, refuseSize(name, len(data), "bytes", mostBytes)
	}
	d, err := document.Parse(data, name)
	if err != nil {
		return nil, err
	}
	var e document.Errors
	for _, option := range options {
		source := "--config " + strings.SplitN(option, "=", 2)[0]
		key, value, found := strings.Cut(option, "=")
		if !found || key == "" || strings.Contains("."+key+".", "..") {
			e = append(e, document.Problem{File: source, Text: fmt.Sprintf("must be KEY=VALUE with keys separated by dots, as in searcher.max_trials=8 (is %.64q)", option)})
			continue
		}
		if p := d.SetYAML(key, optionYAML(key, value), source); p != nil {
			e = append(e, *p)
		}
	}
	if n := d.CountValues(); n > mostValues {
		return nil, refuseSize(name, n, "values", mostValues)
	}
	if err := e.Err(); err != nil {
		return nil, err
	}
	return d, nil
}

// optionYAML returns the value of an option in the syntax of the 0.38.1 CLI: a value with commas
// outside of brackets is a list, and a single bind mount is a list of one.
func optionYAML(key, value string) string {
	switch {
	case key == "bind_mounts" && strings.HasPrefix(value, "{"):
		return "[" + value + "]"
	case strings.HasPrefix(value, "["), strings.HasPrefix(value, "{"):
		return value
	case strings.Contains(value, ","), key == "bind_mounts":
		return "[" + value + "]"
	}
	return value
}

func refuseSize(name string, n int, what string, most int) error {
	return document.Errors{{File: name, Text: fmt.Sprintf("has %d %s; a configuration has at most %d", n, what, most)}}
}
