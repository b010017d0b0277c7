package config

import (
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/document"
)

// Log is what the master logs about itself.
type Log struct {
	Level string `yaml:"level" doc:"trace, debug, info, warn, error or fatal"`
	Color bool   `yaml:"color" doc:"Colour on a terminal"`
}

// DefaultLog is what is logged before the user says anything.
func DefaultLog() Log { return Log{Level: "info", Color: true} }

// logLevels are those of Determined 0.38.1.
func logLevels() []string { return []string{"trace", "debug", "info", "warn", "error", "fatal"} }

// Validate checks the level.
func (l Log) Validate(path string) document.Errors {
	return oneOf(document.Join(path, "level"), l.Level, logLevels())
}

// oneOf complains about a value that is not in a list.
func oneOf(path, value string, allowed []string) document.Errors {
	var e document.Errors
	e.Check(slices.Contains(allowed, value), path, "must be one of %s (is %q)", strings.Join(allowed, ", "), value)
	return e
}
