package config

import (
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
	return document.OneOf(document.Join(path, "level"), l.Level, logLevels())
}
