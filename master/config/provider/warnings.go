package provider

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/gcp/properties"
	"github.com/det-deploy/det-deploy/internal/document"
)

// Warnings returns warnings about settings that have no effect in combination with the others.
func (p Provider) Warnings(path string, given func(path string) bool) document.Errors {
	var w document.Errors
	e, at := p.Elastic(), func(key string) string { return document.Join(path, key) }
	w.Check(e.AgentDockerImage == "", at("agent_docker_image"), "has no effect: an agent is a program of the master's own version that runs on its machine without a container")
	w.Check(e.AgentFluentImage == "", at("agent_fluent_image"), "has no effect: agents ship logs themselves")
	w.Check(e.MasterCertName == "" || !strings.HasPrefix(e.MasterURL, "http://"), at("master_cert_name"), "has no effect: master_url is http, which uses no certificate")
	w.Check(e.LaunchErrorRetries == 0 || e.LaunchErrorTimeout != nil && *e.LaunchErrorTimeout > 0, at("launch_error_retries"), "has no effect without launch_error_timeout")
	usual := e.AgentReconnectAttempts == DefaultElastic().AgentReconnectAttempts
	w.Check(usual || e.ActsWhenLost(), at("agent_reconnect_attempts"),
		"has no effect without hooks.on_connection_lost in agent_config_file_contents: otherwise agents retry without a limit")
	if p.AWS != nil {
		w = append(w, p.AWS.listWarnings(path, given)...)
	}
	if p.GCP != nil {
		w = append(w, p.GCP.listWarnings(path, given)...)
	}
	return w
}

func (p AWS) listWarnings(path string, given func(path string) bool) document.Errors {
	var w document.Errors
	at := func(key string) string { return document.Join(path, key) }
	w.Check(p.LogStream == "", at("log_stream"), "has no effect: the stream of each machine has the machine's name")
	among := slices.Contains(p.Types(), p.InstanceType)
	w.Check(among || !given(at("instance_type")), at("instance_type"), "has no effect: instance_types does not contain it")
	return w
}

func (p GCP) listWarnings(path string, given func(path string) bool) document.Errors {
	var w document.Errors
	at := func(key string) string { return document.Join(path, key) }
	one := at("instance_type.machine_type")
	w.Check(len(p.InstanceTypes) == 0 || !given(one), one, "has no effect: instance_types is set")
	w.Check(p.Log == "" || p.UseCloudLogging, at("log"), "has no effect without use_cloud_logging")
	w.Check(p.ServiceAccount.Email != "" || !given(at("service_account.scopes")), at("service_account.scopes"), "has no effect without service_account.email")
	base, err := properties.Parse(p.BaseConfig.JSON())
	if err != nil { // validation reports it
		return w
	}
	sends := p.ServiceAccount.Email != "" || len(base.ServiceAccounts) > 0
	const unsent = "has no effect without a service account, which machines need to send data"
	w.Check(sends || !p.UseCloudLogging, at("use_cloud_logging"), unsent)
	w.Check(sends || p.Metrics == nil || !*p.Metrics, at("metrics"), unsent)
	w.Check(base.MachineType == "", at("base_config.machineType"), "has no effect: instance_type sets the machine type")
	gives := slices.ContainsFunc(p.Machines(), func(m GCPMachine) bool { return m.Type().GPUs > 0 })
	w.Check(len(base.GuestAccelerators) == 0 || !gives, at("base_config.guestAccelerators"), "has no effect: instance_type sets the GPUs; set instance_type.gpu_type to \"\" to keep these")
	return w
}

// ActsWhenLost reports whether a launched agent runs an action when it gives up reconnecting to its
// master.
func (p Elastic) ActsWhenLost() bool {
	var agent struct {
		Hooks struct {
			Lost []json.RawMessage `json:"on_connection_lost"`
		} `json:"hooks"`
	}
	err := json.Unmarshal(p.AgentConfigFileContents.JSON(), &agent)
	return err == nil && len(agent.Hooks.Lost) > 0 // validation reports errors
}
