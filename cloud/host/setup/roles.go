package setup

import (
	"github.com/det-deploy/det-deploy/cloud/host/manifest"
	"github.com/det-deploy/det-deploy/templates"
)

// The units of a machine.
const (
	HostUnit   = "det-deploy-host.service"
	MasterUnit = "det-deploy-master.service"
	AgentUnit  = "det-deploy-agent.service"
	DataUnit   = "det-deploy-data.service"
)

// environment is what a master is started with besides its configuration.
const environment = home + "/master.env"

// Master is what a master's machine is made of.
type Master struct {
	// RunArgs follows "host run".
	RunArgs []string
	// Region is where the master finds its secrets and machines, and Endpoint
	// takes the place of Amazon's address; it is empty otherwise.
	Region, Endpoint string
	// Volume is the data volume and Device the name it is attached under; Disk is the name
	// of a data disk on Google Cloud. With neither the root disk holds the data.
	Volume, Device, Disk string
}

// Machine lists what is to be put in place. The master itself is started by the
// host, once the manifest says which.
func (r Master) Machine() (Machine, error) {
	master := templates.MasterUnit{Binary: Program, ConfigFile: manifest.ConfigFile, DataDir: manifest.DataDir, Environment: environment}
	if r.Region != "" {
		master.Variables = append(master.Variables, "AWS_REGION="+r.Region)
	}
	if r.Endpoint != "" {
		master.Variables = append(master.Variables, "AWS_ENDPOINT_URL="+r.Endpoint)
	}
	m := Machine{Dirs: []string{manifest.DataDir}, Enable: []string{HostUnit}}
	if args := r.mountArgs(); len(args) > 0 {
		master.Needs = DataUnit
		text, err := templates.DataUnit{Binary: Program, Args: args}.Render()
		if err != nil {
			return Machine{}, err
		}
		m.Files = append(m.Files, Unit(DataUnit, text))
	}
	text, err := master.Render()
	if err != nil {
		return Machine{}, err
	}
	host, err := templates.HostUnit{Binary: Program, Args: r.RunArgs}.Render()
	if err != nil {
		return Machine{}, err
	}
	m.Files = append(m.Files, Unit(MasterUnit, text), Unit(HostUnit, host))
	return m, nil
}

// mountArgs follows "host mount"; it is empty where there is nothing to mount.
func (r Master) mountArgs() []string {
	switch {
	case r.Disk != "":
		return []string{"--disk-name", r.Disk, "--at", manifest.DataDir}
	case r.Volume == "":
		return nil
	case r.Device == "":
		return []string{"--volume", r.Volume, "--at", manifest.DataDir}
	}
	return []string{"--volume", r.Volume, "--at", manifest.DataDir, "--device", r.Device}
}

// Agent is what an agent's machine is made of.
type Agent struct {
	// RunArgs follows "host run".
	RunArgs []string
	// ConfigFile is where Config, the agent.yaml, is put.
	ConfigFile string
	Config     []byte
	DataDir    string
	// Drains has a machine that is shut down wait for its tasks.
	Drains bool
}

// Machine lists what is to be put in place.
func (r Agent) Machine() (Machine, error) {
	unit := templates.AgentUnit{Binary: Program, ConfigFile: r.ConfigFile}
	if r.Drains {
		unit.DrainDir = r.DataDir
	}
	agent, err := unit.Render()
	if err != nil {
		return Machine{}, err
	}
	host, err := templates.HostUnit{Binary: Program, Args: r.RunArgs}.Render()
	if err != nil {
		return Machine{}, err
	}
	return Machine{
		Dirs: []string{r.DataDir}, Enable: []string{HostUnit, AgentUnit},
		Files: []File{{r.ConfigFile, r.Config, 0o600}, Unit(HostUnit, host), Unit(AgentUnit, agent)},
	}, nil
}
