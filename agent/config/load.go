package config

import (
	"strings"

	"github.com/det-deploy/det-deploy/internal/document"
)

// Warning describes a setting that is valid but may not have the expected effect.
type Warning = document.Problem

// Loaded is a configuration and the origin of its settings.
type Loaded struct {
	Agent    Agent
	Warnings []Warning
	// Document locates each setting: the line, flag or variable.
	Document *document.Document
}

// Load reads the first of files that exists and applies the given flags and environment variables
// to it. Without files it searches Paths, where a missing file is no error; a named file must
// exist. If the configuration is invalid, Load returns document.Errors with all problems.
func Load(files []string, given []document.Given) (Agent, []Warning, error) {
	l, err := LoadDocument(files, given)
	return l.Agent, l.Warnings, err
}

// LoadDocument is like Load, but also returns the origin of the settings.
func LoadDocument(files []string, given []document.Given) (Loaded, error) {
	d, err := document.First("agent.yaml", files, Paths())
	if err != nil {
		return Loaded{}, err
	}
	return decodeConfig(d, given)
}

// Parse parses a configuration; name is used in messages.
func Parse(data []byte, name string) (Agent, []Warning, error) {
	l, err := ParseDocument(data, name, nil)
	return l.Agent, l.Warnings, err
}

// ParseDocument is like Parse, but applies flags and environment variables.
func ParseDocument(data []byte, name string, given []document.Given) (Loaded, error) {
	d, err := document.Parse(data, name)
	if err != nil {
		return Loaded{}, err
	}
	return decodeConfig(d, given)
}

func decodeConfig(d *document.Document, given []document.Given) (Loaded, error) {
	problems := d.Apply(given)
	a := DefaultAgent()
	problems = append(problems, d.Decode(&a)...)
	problems = d.Blame(problems, a.Validate(""))
	a.ConfigFile = d.Name()
	return Loaded{Agent: a, Warnings: d.Locate(a.Warnings(d.Given)), Document: d}, problems.Err()
}

// Warnings returns a warning for each setting without effect. given reports whether a setting was
// set explicitly.
func (a Agent) Warnings(given func(path string) bool) document.Errors {
	var w document.Errors
	w.Check(!given("config_file"), "config_file", "has no effect in the file; use --config-file or DET_CONFIG_FILE")
	for _, e := range document.Reference(DefaultAgent()) {
		if why, without := strings.CutPrefix(e.Doc, "No effect: "); without {
			w.Check(!given(e.Path), e.Path, "has no effect: %s", why)
		}
	}
	if a.ArtificialSlots > 0 && given("slot_type") {
		w.Add("slot_type", "has no effect with artificial_slots")
	}
	if given("container_auto_remove_disabled") && a.ContainerRuntime == RuntimeProcess {
		w.Add("container_auto_remove_disabled", "has no effect with container_runtime process")
	}
	if a.ContainerRuntime == RuntimeProcess {
		for _, key := range []string{"docker_network", "docker_runtime"} {
			w.Check(!given(key), key, "has no effect with container_runtime process")
		}
	}
	if a.Launched() {
		w.Check(!given("join_token_file"), "join_token_file", "has no effect: this machine proves its identity itself")
		w.Check(!given("resource_pool"), "resource_pool", "has no effect: the master assigns the resource pool of machines that it launched")
	}
	return w
}

// Unbuilt returns a problem for each valid setting whose feature is not implemented. An agent with
// such a setting does not start.
func Unbuilt(a Agent) []document.Problem {
	var e document.Errors
	e.Check(!a.APIEnabled, "api_enabled", "is not implemented yet; remove the setting")
	e.Check(a.Security.TLS.ClientCert == "", "security.tls.client_cert", "is not implemented yet; use join_token_file")
	return e
}
