package config

import (
	"fmt"
	"strings"

	"github.com/det-deploy/det-deploy/document"
)

// Parse reads a configuration and puts options over it, each "searcher.max_trials=8" with any YAML
// behind the equals sign, as `--config` of the CLI. The error is document.Errors.
func Parse(data []byte, name string, options []string) (*document.Document, error) {
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
		if p := d.SetYAML(key, value, source); p != nil {
			e = append(e, *p)
		}
	}
	if err := e.Err(); err != nil {
		return nil, err
	}
	return d, nil
}
