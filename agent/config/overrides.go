package config

import "github.com/det-deploy/det-deploy/internal/document"

// Overrides returns the settings that can be given by flag or environment variable. It omits hook
// commands, settings without effect, and the machine's identity, which the platform or the operator
// writes once during setup.
func Overrides() []document.Override {
	var rows []document.Override
	for _, e := range document.Reference(DefaultAgent()) {
		switch {
		case e.Path == "config_file": // selected before any file is read
		case e.Path == "machine_socket", e.Path == "machine_secret_file", e.Path == "cluster_id":
		case e.Kind == "mapping", e.Kind == "raw", e.Kind == "list of text":
		default:
			rows = append(rows, document.Override{
				Path: e.Path, Env: document.EnvName(e.Path), Flag: document.FlagName(e.Path),
				Usage: e.Doc, Bool: e.Kind == "true or false",
			})
		}
	}
	return rows
}
