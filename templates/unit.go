package templates

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// MasterUnit is the systemd unit of a master.
type MasterUnit struct {
	// Binary is the det-deploy to run, ConfigFile its master.yaml.
	Binary     string
	ConfigFile string
	// DataDir is the only place that the master may write to.
	DataDir string
}

// Render writes det-deploy-master.service.
func (u MasterUnit) Render() ([]byte, error) {
	if err := plainPaths(u.Binary, u.ConfigFile, u.DataDir); err != nil {
		return nil, fmt.Errorf("render the master's unit: %w", err)
	}
	return render("master.service.tmpl", u)
}

// AgentUnit is the systemd unit of an agent.
type AgentUnit struct {
	// Binary is the det-deploy to run, ConfigFile its agent.yaml.
	Binary     string
	ConfigFile string
}

// Render writes det-deploy-agent.service.
func (u AgentUnit) Render() ([]byte, error) {
	if err := plainPaths(u.Binary, u.ConfigFile); err != nil {
		return nil, fmt.Errorf("render the agent's unit: %w", err)
	}
	return render("agent.service.tmpl", u)
}

// plainPaths refuses what systemd would split, expand or take from elsewhere.
func plainPaths(paths ...string) error {
	var errs []error
	for _, p := range paths {
		if !filepath.IsAbs(p) || strings.ContainsAny(p, " \t\n\"'\\%$;") {
			errs = append(errs, fmt.Errorf("path %q: must be absolute and without spaces, quotes, %%, $ and ;", p))
		}
	}
	return errors.Join(errs...)
}
