package config

import "github.com/det-deploy/det-deploy/internal/document"

// Overrides is every setting of the agent that can be given by flag or
// environment: all but commands of hooks, what has no effect, and the
// machine's identity, which the platform or the operator writes once, at setup.
func Overrides() []document.Override {
	var rows []document.Override
	for _, e := range document.Reference(DefaultAgent()) {
		switch {
		case e.Path == "config_file": // chosen before anything is read
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
