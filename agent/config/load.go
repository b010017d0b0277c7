package config

import (
	"github.com/det-deploy/det-deploy/internal/document"
)

// Warning is something that is accepted and does not do what its author may
// expect.
type Warning = document.Problem

// Loaded is a configuration with what is known of its origin.
type Loaded struct {
	Agent    Agent
	Warnings []Warning
	// Document knows the line, flag or variable of each setting.
	Document *document.Document
}

// Load reads the first of files that exists and puts what was given by flag and
// environment over it. With no files named it looks in Paths and is content with
// none; a file that is named must exist. The error is document.Errors when the
// configuration is wrong, with every complaint.
func Load(files []string, given []document.Given) (Agent, []Warning, error) {
	l, err := LoadDocument(files, given)
	return l.Agent, l.Warnings, err
}

// LoadDocument is Load for those who show where settings come from.
func LoadDocument(files []string, given []document.Given) (Loaded, error) {
	d, err := document.First("agent.yaml", files, Paths())
	if err != nil {
		return Loaded{}, err
	}
	return decodeConfig(d, given)
}

// Parse reads a configuration from memory; name is used in messages.
func Parse(data []byte, name string) (Agent, []Warning, error) {
	l, err := ParseDocument(data, name, nil)
	return l.Agent, l.Warnings, err
}

// ParseDocument is Parse for a configuration over which flags and variables go.
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

// Warnings lists the settings that change nothing; given reports whether the
// author wrote a setting.
func (a Agent) Warnings(given func(path string) bool) document.Errors {
	var w document.Errors
	w.Check(!given("config_file"), "config_file", "has no effect: the file is chosen by --config-file or DET_CONFIG_FILE")
	w.Check(!given("fluent"), "fluent", "has no effect: agents ship logs themselves")
	if a.ArtificialSlots > 0 && given("slot_type") {
		w.Add("slot_type", "has no effect beside artificial_slots")
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
		w.Check(!given("join_token_file"), "join_token_file", "has no effect: this machine proves by itself which one it is")
		w.Check(!given("resource_pool"), "resource_pool", "has no effect: the master knows the pool of a machine that it launched")
	}
	return w
}

// Unbuilt lists every setting of a that is valid and whose feature does not exist
// yet; an agent refuses to start with any of them.
func Unbuilt(a Agent) []document.Problem {
	var e document.Errors
	e.Check(!a.APIEnabled, "api_enabled", "serving profiles is not built yet; remove the setting")
	e.Check(a.Security.TLS.ClientCert == "", "security.tls.client_cert", "client certificates are not built yet; join with join_token_file")
	return e
}
