package setup

import (
	"github.com/det-deploy/det-deploy/cloud/host/manifest"
	"github.com/det-deploy/det-deploy/templates"
)

// The systemd units of a machine.
const (
	HostUnit   = "det-deploy-host.service"
	MasterUnit = "det-deploy-master.service"
	AgentUnit  = "det-deploy-agent.service"
	DataUnit   = "det-deploy-data.service"
)

// environment is the environment file of the master's unit.
const environment = home + "/master.env"

// Master describes the setup of a master's machine.
type Master struct {
	// RunArgs are the arguments of "host run".
	RunArgs []string
	// Region is the region of the master's secrets and instances. Endpoint overrides Amazon's
	// endpoint URL if it is not empty.
	Region, Endpoint string
	// Volume is the ID of the EBS data volume and Device its device name. Disk is the name of the
	// data disk on Google Cloud. If neither is set, the data is on the root disk.
	Volume, Device, Disk string
}

// Machine returns the setup of a master's machine. The master itself is started by the host service
// once there is a manifest with its version.
func (r Master) Machine() (Machine, error) {
	master := templates.MasterUnit{Binary: Program, ConfigFile: manifest.ConfigFile, DataDir: manifest.DataDir, Environment: environment, Proxy: manifest.ProxyFile}
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
	host, err := templates.HostUnit{Binary: Program, Args: r.RunArgs, Proxy: manifest.ProxyFile}.Render()
	if err != nil {
		return Machine{}, err
	}
	m.Files = append(m.Files, Unit(MasterUnit, text), Unit(HostUnit, host))
	return m, nil
}

// mountArgs returns the arguments of "host mount", or nil if there is nothing to mount.
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

// Agent describes the setup of an agent's machine.
type Agent struct {
	// RunArgs are the arguments of "host run".
	RunArgs []string
	// ConfigFile is the path of the agent.yaml, and Config its content.
	ConfigFile string
	Config     []byte
	DataDir    string
	// Proxy is the environment file with the machine's proxies, or empty.
	Proxy string
	// Drains delays the shutdown of the machine until its tasks have ended.
	Drains bool
}

// Machine returns the setup of an agent's machine.
func (r Agent) Machine() (Machine, error) {
	unit := templates.AgentUnit{Binary: Program, ConfigFile: r.ConfigFile, Proxy: r.Proxy}
	if r.Drains {
		unit.DrainDir = r.DataDir
	}
	agent, err := unit.Render()
	if err != nil {
		return Machine{}, err
	}
	host, err := templates.HostUnit{Binary: Program, Args: r.RunArgs, Proxy: r.Proxy}.Render()
	if err != nil {
		return Machine{}, err
	}
	m := Machine{
		Dirs: []string{r.DataDir}, Enable: []string{HostUnit, AgentUnit},
		Files: []File{{r.ConfigFile, r.Config, 0o600}, Unit(HostUnit, host), Unit(AgentUnit, agent)},
	}
	if r.Proxy != "" {
		docker, err := templates.DockerProxy{File: r.Proxy}.Render()
		if err != nil {
			return Machine{}, err
		}
		m.Files = append(m.Files, Unit(dockerProxy, docker))
		m.Restart = dockerUnit
	}
	return m, nil
}

// dockerUnit is Docker's unit, and dockerProxy the file that extends it.
const (
	dockerUnit  = "docker.service"
	dockerProxy = dockerUnit + ".d/det-deploy-proxy.conf"
)
