package spec

import (
	"encoding/json"
	"errors"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/document"
	"github.com/det-deploy/det-deploy/master/config"
)

// Common is what cluster.yaml says of a cluster in whichever cloud. A platform's own type
// has it inline and puts its own keys beside it.
type Common struct {
	Cluster string `yaml:"cluster_id" doc:"Name of the cluster, unique in the account; given by --cluster-id when empty"`

	TLS                TLS          `yaml:"tls" doc:"Certificate of the master; one of the cluster's own CA when empty"`
	Database           Database     `yaml:"database" doc:"Where the master keeps its state"`
	InitialPassword    secret.Value `yaml:"initial_password" doc:"Reference to the first password of admin, and of determined where that has none of its own; generated for each when empty"`
	DeterminedPassword secret.Value `yaml:"initial_determined_password" doc:"Reference to the first password of determined"`
	Storage            Storage      `yaml:"storage" doc:"Bucket for checkpoints"`

	Scheduler   config.Scheduler  `yaml:"scheduler" doc:"How tasks share the pools"`
	DefaultPool string            `yaml:"default_pool" doc:"Pool of tasks with slots that name none; the first by name when empty"`
	Tasks       Tasks             `yaml:"tasks" doc:"What tasks get unless they say otherwise"`
	TaskPolicy  config.TaskPolicy `yaml:"task_policy" doc:"What tasks may do to the machines they run on, unless their owner is an administrator"`

	Security Security `yaml:"security" doc:"Who may do what, and what that may cost"`

	EnableCORS bool         `yaml:"enable_cors" doc:"Let browsers on other sites call the API"`
	MasterYAML document.Raw `yaml:"master_yaml" doc:"Settings of master.yaml that are put over those made from this file"`
}

func defaultCommon() Common {
	return Common{
		Storage:   Storage{Saved: config.DefaultSaved()},
		Scheduler: config.DefaultScheduler(),
		Security:  DefaultSecurity(),
	}
}

// validate lists every rule that c breaks; vault is where its cloud keeps secrets.
func (c *Common) validate(path string, vault secret.Scheme) document.Errors {
	var e document.Errors
	at := func(key string) string { return document.Join(path, key) }
	checkCluster(&e, at("cluster_id"), c.Cluster)
	e = append(e, c.TLS.validate(at("tls"), vault)...)
	requireReference(&e, at("database.url"), c.Database.URL, vault)
	requireReference(&e, at("initial_password"), c.InitialPassword, vault)
	requireReference(&e, at("initial_determined_password"), c.DeterminedPassword, vault)
	e = append(e, c.Storage.validate(at("storage"))...)
	e = append(e, c.Scheduler.Validate(at("scheduler"))...)
	e = append(e, c.Tasks.validate(at("tasks"), vault)...)
	e = append(e, c.TaskPolicy.Validate(at("task_policy"))...)
	e = append(e, c.Security.Validate(at("security"))...)
	return append(e, c.MasterYAML.Check(at("master_yaml"), checkObject)...)
}

// Database is where the master keeps its state.
type Database struct {
	URL secret.Value `yaml:"url" doc:"Reference to the URL of a PostgreSQL database; one embedded in the master, on its data volume, when empty"`
}

func checkObject(data []byte) error {
	var m map[string]json.RawMessage
	if json.Unmarshal(data, &m) != nil {
		return errors.New("must be a mapping of keys to values")
	}
	return nil
}
