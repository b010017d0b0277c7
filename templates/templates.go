// Package templates is every file that det-deploy writes onto machines, each as
// typed data and its Render, so that what stands on a machine can be read here.
package templates

import (
	"embed"
	"fmt"

	"github.com/det-deploy/det-deploy/templates/engine"
)

//go:embed *.tmpl
var files embed.FS

// renderTemplate renders one template, which may use what others define.
func renderTemplate(name string, data any, others ...string) ([]byte, error) {
	set := engine.New(nil)
	for _, file := range append(others, name) {
		text, err := files.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read template %s: %w", file, err)
		}
		if err := set.Parse(file, string(text)); err != nil {
			return nil, fmt.Errorf("read template %s: %w", file, err)
		}
	}
	out, err := set.Execute(name, data)
	if err != nil {
		return nil, fmt.Errorf("render %s: %w", name, err)
	}
	return []byte(out), nil
}
