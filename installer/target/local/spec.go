// Package local puts a cluster on this machine: a master, its agents and the
// small supervisor that keeps them running, all as processes of the user who
// asked, in one directory.
package local

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/det-deploy/det-deploy/document"
	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// Spec is what a local cluster should be.
type Spec struct {
	// Cluster identifies a cluster on one machine.
	Cluster string
	// Port is where the master listens.
	Port int
	// Agents is how many agents run, and Slots how many artificial slots each
	// has; with none it offers what the machine really has.
	Agents, Slots int
	// Elastic is how many more agents the master may start when tasks wait.
	Elastic int
	TLS     bool
	// DBURLFile is a file with the URL of a PostgreSQL database; without it the
	// database is a file in the cluster's directory.
	DBURLFile string
	// TrustUsers lets every user of the cluster submit tasks, isolated or not.
	TrustUsers bool
	// MasterConfig is settings of master.yaml that go over the cluster's own.
	MasterConfig string
	// Isolated says that tasks are kept from this machine. It is no setting: the
	// machine decides, see Target.Isolated.
	Isolated bool
}

// The names of the settings, as flags and in the record.
const (
	PortSetting    = "port"
	AgentSetting   = "agents"
	SlotSetting    = "artificial-slots"
	ElasticSetting = "elastic"
	TLSSetting     = "tls"
	DBSetting      = "db-url-file"
	TrustSetting   = "trust-users"
	// ConfigSetting is a file's content, and its flag the file's name.
	ConfigSetting = "master-config-file"
)

// DefaultCluster is the cluster ID when none is given.
const DefaultCluster = "local"

// Defaults are the settings before the user says anything.
func Defaults() map[string]string {
	return map[string]string{
		PortSetting:    "8080",
		AgentSetting:   "1",
		SlotSetting:    "0",
		ElasticSetting: "0",
		TLSSetting:     "false",
		DBSetting:      "",
		TrustSetting:   "false",
		ConfigSetting:  "",
	}
}

// FromSettings reads settings, which hold every name of Defaults, and validates
// the whole. All complaints come at once; each names its flag.
func FromSettings(cluster string, settings map[string]string) (Spec, error) {
	var wrong document.Errors
	number := func(name string) int {
		n, err := strconv.Atoi(settings[name])
		wrong = checkFlag(wrong, err == nil, name, "must be a number (is %q)", settings[name])
		return n
	}
	truth := func(name string) bool {
		is, err := strconv.ParseBool(settings[name])
		wrong = checkFlag(wrong, err == nil, name, "must be true or false (is %q)", settings[name])
		return is
	}
	s := Spec{
		Cluster: cluster, Port: number(PortSetting), Agents: number(AgentSetting),
		Slots: number(SlotSetting), Elastic: number(ElasticSetting), DBURLFile: settings[DBSetting],
		MasterConfig: settings[ConfigSetting],
	}
	s.TLS, s.TrustUsers = truth(TLSSetting), truth(TrustSetting)
	if len(wrong) > 0 {
		return s, wrong
	}
	return s, s.Validate()
}

// checkFlag adds a problem with a flag unless ok.
func checkFlag(wrong document.Errors, ok bool, flag, format string, args ...any) document.Errors {
	if ok {
		return wrong
	}
	return append(wrong, document.Problem{File: "--" + flag, Text: fmt.Sprintf(format, args...)})
}

// ValidCluster reports whether a cluster may be called id.
func ValidCluster(id string) bool { return spec.ValidCluster(id) }

// Validate lists every rule that s breaks.
func (s Spec) Validate() error {
	var wrong document.Errors
	rule := func(ok bool, flag, format string, args ...any) { wrong = checkFlag(wrong, ok, flag, format, args...) }
	rule(ValidCluster(s.Cluster), "cluster-id", "must be up to 31 lower-case letters, digits and inner dashes, a letter first (is %q)", s.Cluster)
	rule(s.Port >= 1 && s.Port <= 65535, PortSetting, "must be between 1 and 65535 (is %d)", s.Port)
	// Each agent is a process of some 20 MB; beyond this a typing error is likelier.
	rule(s.Agents >= 0 && s.Agents <= 64, AgentSetting, "must be between 0 and 64 (is %d)", s.Agents)
	rule(s.Elastic >= 0 && s.Elastic <= 64, ElasticSetting, "must be between 0 and 64 (is %d)", s.Elastic)
	rule(s.Slots >= 0 && s.Slots <= 1024, SlotSetting, "must be between 0 and 1024 (is %d)", s.Slots)
	rule(s.DBURLFile == "" || filepath.IsAbs(s.DBURLFile), DBSetting, "must be an absolute path (is %q)", s.DBURLFile)
	return wrong.Err()
}

// URL is where the cluster answers.
func (s Spec) URL() string {
	scheme := "http"
	if s.TLS {
		scheme = "https"
	}
	return scheme + "://127.0.0.1:" + strconv.Itoa(s.Port)
}

// Root is the directory of all local clusters of this user.
func Root(getenv func(string) string) (string, error) {
	if state := getenv("XDG_STATE_HOME"); state != "" {
		if !filepath.IsAbs(state) {
			return "", fmt.Errorf("find the directory of local clusters: XDG_STATE_HOME must be an absolute path (is %q)", state)
		}
		return filepath.Join(state, "det-deploy"), nil
	}
	home := getenv("HOME")
	if home == "" {
		return "", errors.New("find the directory of local clusters: set XDG_STATE_HOME or HOME")
	}
	return filepath.Join(home, ".local", "state", "det-deploy"), nil
}

// Clusters lists the clusters in root.
func Clusters(root string) ([]string, error) {
	entries, err := os.ReadDir(root)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the local clusters: %w", err)
	}
	var out []string
	for _, e := range entries {
		if _, err := os.Stat(filepath.Join(root, e.Name(), "control", record.Key)); err == nil {
			out = append(out, e.Name())
		}
	}
	return out, nil
}
