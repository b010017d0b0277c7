// Package templates is every file that det-deploy writes onto machines, each as
// typed data and its Render, so that what stands on a machine can be read here.
package templates

import (
	"bytes"
	"embed"
	"fmt"
	"text/template"
)

//go:embed *.tmpl
var files embed.FS

// renderTemplate renders one template, which may use what others define.
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
