package spec

import (
	"time"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/document"
	"github.com/det-deploy/det-deploy/master/config"
)

// AWSAgents is what the machines of all pools have in common.
type AWSAgents struct {
	Image                    string           `yaml:"image" doc:"AMI; the newest with NVIDIA drivers and Docker that AWS publishes when empty"`
	RootVolume               int              `yaml:"root_volume_size" doc:"GB of the root volume, at least 100"`
	StartupScript            string           `yaml:"startup_script" doc:"Runs on a machine before its agent starts; it is kept with the cluster's configuration, so write no secret into it"`
	ContainerStartupScript   string           `yaml:"container_startup_script" doc:"Runs in the agent's container before the agent starts"`
	ReconnectAttempts        int              `yaml:"reconnect_attempts" doc:"How often an agent tries to reconnect before it gives up"`
	ReconnectBackoff         document.Seconds `yaml:"reconnect_backoff" doc:"Pause between these attempts"`
	ShutDownOnConnectionLoss bool             `yaml:"shut_down_on_connection_loss" doc:"Power a machine off when its agent has given up its master"`
	DockerNetwork            string           `yaml:"docker_network" doc:"Docker network of tasks"`
	DockerRuntime            string           `yaml:"docker_runtime" doc:"Docker runtime of tasks"`
	Config                   document.Raw     `yaml:"config" doc:"Settings of agent.yaml, hooks among them"`
}

// DefaultAWSAgents is what machines have before the user says anything.
func DefaultAWSAgents() AWSAgents {
	return AWSAgents{
		RootVolume: 200, ReconnectBackoff: document.Seconds(10 * time.Second),
		// Ten minutes: a master that is upgraded is back before its agents give up.
		ReconnectAttempts:        60,
		ShutDownOnConnectionLoss: true,
		DockerNetwork:            "default", DockerRuntime: "runc",
	}
}

// Validate checks the numbers.
func (a AWSAgents) Validate(path string) document.Errors {
	var e document.Errors
	at := func(key string) string { return document.Join(path, key) }
	checkID(&e, at("image"), a.Image, imageID, "ami-0123456789abcdef0")
	e.Check(a.RootVolume >= 100, at("root_volume_size"), "must be at least 100 (is %d)", a.RootVolume)
	e.Check(a.ReconnectAttempts > 0, at("reconnect_attempts"), "must be more than 0 (is %d)", a.ReconnectAttempts)
	e.Check(a.ReconnectBackoff > 0, at("reconnect_backoff"), "must be more than 0 (is %v)", a.ReconnectBackoff)
	return append(e, a.Config.Check(at("config"), checkObject)...)
}

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

// Validate checks that an account is whole.
func (t Tasks) Validate(path string) document.Errors {
	var e document.Errors
	at := func(key string) string { return document.Join(path, key) }
	r := t.Registry
	requireReference(&e, at("registry.password"), r.Password)
	e.Check(r.User == "" || !r.Password.IsZero(), at("registry.password"), "is required with a user")
	e.Check(r.User != "" || r.Password.IsZero(), at("registry.user"), "is required with a password")
	e.Check(r.User != "" || r.Server == "", at("registry.user"), "is required with a server")
	e.Check(t.NotebookTimeout == nil || *t.NotebookTimeout > 0, at("notebook_timeout"), "must be more than 0; leave it out for no limit")
	return e
}

// AWSStorage is where experiments store checkpoints.
type AWSStorage struct {
	config.Saved `yaml:",inline"`
	Bucket       string `yaml:"bucket" doc:"Existing bucket, kept by down; an own one when empty"`
	Prefix       string `yaml:"prefix" doc:"Beginning of each object's name"`
}
