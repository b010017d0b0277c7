package config

import (
	"github.com/det-deploy/det-deploy/internal/document"
)

// Slot types. SlotGPU is an older name of SlotCUDA.
const (
	SlotAuto = "auto"
	SlotCUDA = "cuda"
	SlotGPU  = "gpu"
	SlotROCm = "rocm"
	SlotCPU  = "cpu"
	SlotNone = "none"
)

// Container runtimes.
const (
	RuntimeAuto    = "auto"
	RuntimeDocker  = "docker"
	RuntimeProcess = "process"
)

// Log configures the agent's own log.
type Log struct {
	Level string `yaml:"level" doc:"trace, debug, info, warn, error or fatal"`
	Color bool   `yaml:"color" doc:"Use colors on a terminal"`
}

// Validate returns an error if the level is unknown.
func (l Log) Validate(path string) document.Errors {
	return document.OneOf(document.Join(path, "level"), l.Level, logLevels())
}

func logLevels() []string {
	return []string{"trace", "debug", "info", "warn", "error", "fatal"}
}

func slotTypes() []string {
	return []string{SlotAuto, SlotCUDA, SlotGPU, SlotROCm, SlotCPU, SlotNone}
}

func runtimes() []string { return []string{RuntimeAuto, RuntimeDocker, RuntimeProcess} }
