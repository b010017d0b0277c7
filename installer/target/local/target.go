package local

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config"
)

// Target is one cluster on this machine.
type Target struct {
	Spec  Spec
	Place Place
	// Gate is asked before each change.
	Gate *resource.Gate
	// Program is the running det-deploy program, and Own its release. Env is added to the
	// environment of started processes.
	Program string
	Own     record.Release
	Env     []string
	// Release is the requested release.
	Release record.Release
	// Docker is the socket of the Docker daemon.
	Docker string
	// TasksAt is the address at which containers reach the master, from TasksReach. It is empty if
	// tasks run as processes.
	TasksAt string
	// RestoreFrom is the backup with which a new cluster begins, or empty.
	RestoreFrom string
	// Refusals returns the problems for which a master would refuse to start with a valid
	// configuration; nil returns the unimplemented settings.
	Refusals func(config.Master) document.Errors
}

var _ resource.Target = (*Target)(nil)

// newHost returns a host with the cluster's copy of the program, or with this program if that does
// not exist.
func (t *Target) newHost() host { return host{t.Gate, t.Place.programOf(t.Release), t.Program, t.Env} }

func (t *Target) programResource(r record.Release) *program {
	sum := r.Programs[platform]
	return &program{base{t.newHost(), kindProgram, "det-deploy", nil}, t.Place, sum, t.Program}
}

// Kinds returns the kinds in dependency order: those that others need come first.
func (t *Target) Kinds() []string {
	return []string{kindData, kindSecret, kindLogs, kindConfig, kindProgram, kindSupervisor, kindMachine, kindMaster, kindAgentFiles, kindAgent}
}

// Wanted returns all resources of a local cluster.
func (t *Target) Wanted() ([]resource.Resource, error) {
	h, p, s := t.newHost(), t.Place, t.Spec
	data := t.dataResource()
	password := t.passwordResource()
	logs := &directory{base{h, kindLogs, "logs", nil}, p.pathOf("logs"), "", ""}
	settings := &file{base: base{h, kindConfig, "master.yaml", nil}, path: p.masterYAML(), content: masterConfig(s, p, t.TasksAt), compare: compareMasters}
	self := t.programResource(t.Release)
	boss := t.supervisorResource()
	boss.needs = []string{logs.ID(), self.ID()}
	master := t.masterResource()
	master.needs = []string{data.ID(), password.ID(), settings.ID(), boss.ID()}
	out := []resource.Resource{data, password, logs, settings, self, boss, master}
	if s.MasterConfig != "" {
		out = append(out, t.masterConfig())
	}
	if !p.onePassword() {
		determined := t.determinedPassword()
		password.needs = []string{determined.ID()}
		out = append(out, determined)
	}
	if s.TLS {
		master.certs, master.certFile = t.certificates(), certificateFile
		master.needs = append(master.needs, master.certs.ID())
		out = append(out, master.certs)
	}
	for i := range s.Agents {
		name := strconv.Itoa(i + 1)
		files := t.agentFiles(name)
		files.needs = []string{master.ID()}
		agent := t.agentResource(name)
		agent.needs = []string{files.ID(), boss.ID(), master.ID()}
		agent.certs, agent.certFile = master.certs, authorityFile
		out = append(out, files, agent)
	}
	return out, nil
}

func (t *Target) supervisorResource() *supervisor {
	return &supervisor{base{t.newHost(), kindSupervisor, "supervisor", nil}, t.Place}
}

func (t *Target) dataResource() *directory {
	return &directory{base{t.newHost(), kindData, "data", nil}, t.Place.dataDir(), t.Place.retainReason(), "checkpoints"}
}

// masterConfig returns the file with the user's settings as they were given, from which a lost
// record is restored.
func (t *Target) masterConfig() *file {
	say := func(context.Context) ([]byte, error) { return []byte(t.Spec.MasterConfig), nil }
	return &file{base: base{t.newHost(), kindConfig, "master-config.yaml", nil}, path: t.Place.masterConfig(), content: say}
}

func (t *Target) passwordResource() *file {
	return &file{base: base{t.newHost(), kindSecret, "admin-password", nil}, path: t.Place.Password(), secret: true, content: newPassword, retain: opensData}
}

func (t *Target) determinedPassword() *file {
	return &file{base: base{t.newHost(), kindSecret, "determined-password", nil}, path: t.Place.determinedPassword(), secret: true, content: newPassword, retain: opensData}
}

func (t *Target) masterResource() *process {
	return &process{
		base: base{t.newHost(), kindMaster, "master", nil}, place: t.Place, unit: "master",
		program: t.Place.programOf(t.Release), args: []string{"master", "run", "--config-file", t.Place.masterYAML()},
		config: masterConfig(t.Spec, t.Place, t.TasksAt), file: t.Place.masterYAML(), compare: compareMasters, isPortTaken: t.isPortTaken, prepare: t.restoreStore, unhealthy: t.Master().masterProblem,
	}
}

func (t *Target) agentFiles(name string) *agentFiles {
	return &agentFiles{base{t.newHost(), kindAgentFiles, name, nil}, t.Place, t.Spec, t.TasksAt}
}

func (t *Target) agentResource(name string) *process {
	return &process{
		base: base{t.newHost(), kindAgent, name, nil}, place: t.Place, unit: "agent-" + name,
		program: t.Place.programOf(t.Release), args: []string{"agent", "run", "--config-file", t.Place.agentYAML(name)},
		config: agentConfig(t.Spec, t.Place, name, t.TasksAt), file: t.Place.agentYAML(name), compare: compareAgents,
	}
}

// Inventory lists the files in the cluster's directory and its known processes.
func (t *Target) Inventory(context.Context, string) ([]resource.Found, error) {
	var out []resource.Found
	add := func(kind, path, retain string) {
		if fileExists(path) {
			out = append(out, foundFile(kind, path, retain))
		}
	}
	add(kindData, t.Place.dataDir(), t.Place.retainReason())
	add(kindSecret, t.Place.Password(), opensData)
	add(kindSecret, t.Place.determinedPassword(), opensData)
	add(kindSecret, t.Place.pathOf("tls"), "")
	add(kindLogs, t.Place.pathOf("logs"), "")
	add(kindConfig, t.Place.masterYAML(), "")
	add(kindConfig, t.Place.masterConfig(), "")
	if t.Place.Processes().Exists() {
		out = append(out, foundFile(kindSupervisor, t.Place.pathOf("run"), ""))
	}
	units, err := t.Place.Processes().Known()
	if err != nil {
		return nil, wrapRefusal("list", "processes", err)
	}
	for _, unit := range units {
		kind := kindAgent
		if unit == "master" {
			kind = kindMaster
		}
		out = append(out, resource.Found{Kind: kind, ID: unit, Name: unit})
	}
	programs, err := t.Place.listPrograms()
	if err != nil {
		return nil, err
	}
	for _, sum := range programs {
		out = append(out, foundProgram(sum))
	}
	agents, err := os.ReadDir(t.Place.pathOf("agents"))
	if err != nil && !os.IsNotExist(err) {
		return nil, wrapRefusal("list", "agents", err)
	}
	for _, a := range agents {
		add(kindAgentFiles, t.Place.agentDir(a.Name()), "")
	}
	launched, err := launchedBy(t.Place)
	return append(out, launched...), err
}

// Remove deletes an object by kind and identity.
func (t *Target) Remove(ctx context.Context, f resource.Found) error {
	switch f.Kind {
	case kindProgram:
		return (&program{base: base{h: t.newHost()}, place: t.Place, sum: filepath.Base(f.ID)}).Delete(ctx)
	case kindSupervisor:
		return (&supervisor{base: base{h: t.newHost()}, place: t.Place}).Delete(ctx)
	case kindMaster:
		return t.masterResource().Delete(ctx)
	case kindAgent:
		return t.agentResource(strings.TrimPrefix(f.ID, "agent-")).Delete(ctx)
	case kindMachine:
		return endMachine(ctx, t.newHost(), t.Place, f.ID)
	case kindAgentFiles:
		return (&agentFiles{base: base{h: t.newHost(), name: filepath.Base(f.ID)}, place: t.Place}).Delete(ctx)
	default:
		return t.newHost().removeAll(ctx, t.Place.pathOf(f.ID))
	}
}
