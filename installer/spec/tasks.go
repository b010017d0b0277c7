package spec

import (
	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/document"
)

// Tasks is what tasks get unless they say otherwise.
type Tasks struct {
	CPUImage        string            `yaml:"cpu_image" doc:"Image of tasks without GPUs; what the client asks for when empty"`
	GPUImage        string            `yaml:"gpu_image" doc:"Image of tasks with GPUs; what the client asks for when empty"`
	Registry        Registry          `yaml:"registry" doc:"How to sign in to the image registry"`
	NotebookTimeout *document.Seconds `yaml:"notebook_timeout" doc:"How long a notebook may be idle before it is stopped; never when empty"`
}

// Registry is an account at an image registry.
type Registry struct {
	Server   string       `yaml:"server" doc:"Registry; Docker Hub when empty"`
	User     string       `yaml:"user" doc:"User"`
	Password secret.Value `yaml:"password" doc:"Reference to the password"`
}

// validate checks that an account is whole; its password may be in a vault.
func (t Tasks) validate(path string, vault secret.Scheme) document.Errors {
	var e document.Errors
	at := func(key string) string { return document.Join(path, key) }
	r := t.Registry
	requireReference(&e, at("registry.password"), r.Password, vault)
	e.Check(r.User == "" || !r.Password.IsZero(), at("registry.password"), "is required with a user")
	e.Check(r.User != "" || r.Password.IsZero(), at("registry.user"), "is required with a password")
	e.Check(r.User != "" || r.Server == "", at("registry.user"), "is required with a server")
	e.Check(t.NotebookTimeout == nil || *t.NotebookTimeout > 0, at("notebook_timeout"), "must be more than 0; leave it out for no limit")
	return e
}
