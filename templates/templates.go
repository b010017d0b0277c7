// Package templates renders the files that det-deploy installs on machines, each from typed data with a
// Render method.
package templates

import (
	"bytes"
	"embed"
	"fmt"
	"text/template"
)

//go:embed *.tmpl
var files embed.FS

// renderTemplate renders one template, which may use definitions of others.
func renderTemplate(name string, data any, others ...string) ([]byte, error) {
	t, err := template.New(name).Option("missingkey=error").ParseFS(files, append(others, name)...)
	if err != nil {
		return nil, fmt.Errorf("read template %s: %w", name, err)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, data); err != nil {
		return nil, fmt.Errorf("render %s: %w", name, err)
	}
	return out.Bytes(), nil
}
