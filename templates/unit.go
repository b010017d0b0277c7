package templates

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// MasterUnit is the systemd unit of a master.
type MasterUnit struct {
	// Binary is the path of det-deploy, ConfigFile that of its master.yaml.
	Binary     string
	ConfigFile string
	// DataDir is the only directory that the master may write to.
	DataDir string
	// Needs is a unit that must have succeeded before, and Environment a file that may extend the
	// command line with DET_DEPLOY_MASTER_ARGS. Both may be empty. With an environment file the master
	// is started by another unit, not at boot.
	Needs       string
	Environment string
	// Proxy is an environment file with the machine's proxies; it may be missing. It may be empty.
	Proxy string
	// Variables are NAME=VALUE pairs that locate the master's cloud services.
	Variables []string
}

// Render returns det-deploy-master.service.
func (u MasterUnit) Render() ([]byte, error) {
	paths := []string{u.Binary, u.ConfigFile, u.DataDir}
	for _, file := range []string{u.Environment, u.Proxy} {
		if file != "" {
			paths = append(paths, file)
		}
	}
	if err := errors.Join(plainPaths(paths...), plainWords(append(u.Variables, u.Needs)...)); err != nil {
		return nil, fmt.Errorf("render the master's unit: %w", err)
	}
	return renderTemplate("master.service.tmpl", u)
}

// AgentUnit is the systemd unit of an agent.
type AgentUnit struct {
	// Binary is the path of det-deploy, ConfigFile that of its agent.yaml.
	Binary     string
	ConfigFile string
	// DrainDir is the agent's data_dir on a machine whose tasks are notified before it shuts down: the
	// agent stops after them. It is empty on other machines.
	DrainDir string
	// Proxy is an environment file with the machine's proxies; it may be missing. It may be empty.
	Proxy string
}

// Render returns det-deploy-agent.service.
func (u AgentUnit) Render() ([]byte, error) {
	paths := []string{u.Binary, u.ConfigFile}
	for _, path := range []string{u.DrainDir, u.Proxy} {
		if path != "" {
			paths = append(paths, path)
		}
	}
	if err := plainPaths(paths...); err != nil {
		return nil, fmt.Errorf("render the agent's unit: %w", err)
	}
	return renderTemplate("agent.service.tmpl", u)
}

// HostUnit is the systemd unit of a machine's cloud services.
type HostUnit struct {
	// Binary is the path of det-deploy, Args the arguments after "host run".
	Binary string
	Args   []string
	// Proxy is an environment file with the machine's proxies; it may be missing. It may be empty.
	Proxy string
}

// Render returns det-deploy-host.service.
func (u HostUnit) Render() ([]byte, error) {
	paths := []string{u.Binary}
	if u.Proxy != "" {
		paths = append(paths, u.Proxy)
	}
	if err := errors.Join(plainPaths(paths...), plainWords(u.Args...)); err != nil {
		return nil, fmt.Errorf("render the host's unit: %w", err)
	}
	return renderTemplate("host.service.tmpl", u)
}

// DataUnit is the systemd unit that mounts a master's data volume.
type DataUnit struct {
	// Binary is the path of det-deploy, Args the arguments after "host mount".
	Binary string
	Args   []string
}

// Render returns det-deploy-data.service.
func (u DataUnit) Render() ([]byte, error) {
	if err := errors.Join(plainPaths(u.Binary), plainWords(u.Args...)); err != nil {
		return nil, fmt.Errorf("render the data volume's unit: %w", err)
	}
	return renderTemplate("data.service.tmpl", u)
}

// DockerProxy is an extension of Docker's systemd unit with the machine's proxies.
type DockerProxy struct {
	// File is an environment file.
	File string
}

// Render returns the drop-in of docker.service.
func (u DockerProxy) Render() ([]byte, error) {
	if err := plainPaths(u.File); err != nil {
		return nil, fmt.Errorf("render Docker's proxies: %w", err)
	}
	return renderTemplate("docker-proxy.conf.tmpl", u)
}

// odd are the characters at which systemd splits, expands or ends a word.
const odd = " \t\n\"'\\%$;"

// plainWords returns an error for arguments that systemd would not take as one word.
func plainWords(words ...string) error {
	var errs []error
	for _, w := range words {
		if strings.ContainsAny(w, odd) {
			errs = append(errs, fmt.Errorf("argument %q: must be without spaces, quotes, %%, $ and ;", w))
		}
	}
	return errors.Join(errs...)
}

// plainPaths returns an error for paths that are relative or that systemd would split or expand.
func plainPaths(paths ...string) error {
	var errs []error
	for _, p := range paths {
		if !filepath.IsAbs(p) || strings.ContainsAny(p, odd) {
			errs = append(errs, fmt.Errorf("path %q: must be absolute and without spaces, quotes, %%, $ and ;", p))
		}
	}
	return errors.Join(errs...)
}
