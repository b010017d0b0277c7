package config

import (
	"github.com/det-deploy/det-deploy/internal/document"
)

// The kinds of slots an agent can offer. SlotGPU is an older name of SlotCUDA.
const (
	SlotAuto = "auto"
	SlotCUDA = "cuda"
	SlotGPU  = "gpu"
	SlotROCm = "rocm"
	SlotCPU  = "cpu"
	SlotNone = "none"
)

// The ways to run tasks.
const (
	RuntimeAuto    = "auto"
	RuntimeDocker  = "docker"
	RuntimeProcess = "process"
)

// Log is what the agent logs about itself.
type Log struct {
	Level string `yaml:"level" doc:"trace, debug, info, warn, error or fatal"`
	Color bool   `yaml:"color" doc:"Colour on a terminal"`
}

// Validate checks the level.
func (l Log) Validate(path string) document.Errors {
	return document.OneOf(document.Join(path, "level"), l.Level, []string{"trace", "debug", "info", "warn", "error", "fatal"})
}
