package config

import (
	"fmt"
	"strings"

	"github.com/det-deploy/det-deploy/internal/document"
)

// What is far above what people write; code and data come as files. Reading 100,000 values takes
// seconds of a core.
const (
	mostBytes  = 1 << 20
	mostValues = 20_000
)

// Parse reads a configuration and puts options over it, each "searcher.max_trials=8" with any YAML
// behind the equals sign, as `--config` of the CLI; a mapping is merged. The error is document.Errors.
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

// optionYAML is an option's value as the CLI of 0.38.1 reads it: with commas outside of a list or a
// mapping it is a list, and one mount is a list of one.
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
