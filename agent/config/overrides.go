package config

import (
	"strings"
	"unicode"

	"github.com/det-deploy/det-deploy/internal/document"
)

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
				Usage: usageOf(e.Doc), Bool: e.Kind == "true or false", Values: valuesOf(e.Path),
			})
		}
	}
	return rows
}

// valuesOf returns all values of a setting that has few.
func valuesOf(path string) []string {
	switch path {
	case "log.level":
		return logLevels()
	case "slot_type":
		return slotTypes()
	case "container_runtime":
		return runtimes()
	}
	return nil
}

// usageOf returns a setting's documentation as the usage of a flag, which begins with a lower-case
// letter unless its first word is a name or an abbreviation.
func usageOf(doc string) string {
	if len(doc) < 2 || unicode.IsUpper(rune(doc[1])) {
		return doc
	}
	return strings.ToLower(doc[:1]) + doc[1:]
}
