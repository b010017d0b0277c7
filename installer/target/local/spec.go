// Package local installs a cluster on this machine: a master, its agents and a small supervisor,
// all as processes of the current user, in one directory.
package local

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/installer/spec"
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/config/container"
)

// Spec is the requested configuration of a local cluster.
type Spec struct {
	// Cluster is the cluster ID, unique on the machine.
	Cluster string
	// Port is the master's port.
	Port int `yaml:"port"`
	// Agents is the number of agents, and Slots the number of artificial slots of each. With zero
	// Slots, agents detect their devices.
	Agents int `yaml:"agents"`
	Slots  int `yaml:"artificial_slots"`
	// Elastic is the maximum number of agents that the master starts on demand.
	Elastic int `yaml:"elastic"`
	// TLS is also set by a certificate of the user, OwnTLS. Otherwise the cluster makes its own.
	TLS    bool     `yaml:"tls"`
	OwnTLS spec.TLS `yaml:"own_tls"`
	// AgentAddress is the name or IP address at which agents on other machines reach the master. Without
	// one, only this machine does.
	AgentAddress string `yaml:"agent_address"`
	// DBURLFile is a file with the URL of a PostgreSQL database. If it is empty, the database is a
	// file in the cluster's directory.
	DBURLFile string `yaml:"db_url_file"`
	// TrustUsers allows every user to submit tasks, even without isolation.
	TrustUsers bool `yaml:"trust_users"`
	// HarnessWheel is a wheel of the client library, for trials whose image lacks it.
	HarnessWheel string `yaml:"harness_wheel"`
	// MasterConfig overrides settings of master.yaml.
	MasterConfig string `yaml:"master_config"`
	// Isolated reports whether tasks are isolated from this machine. It is not a setting but a
	// property of the machine; see Target.Isolated.
	Isolated bool
}

// The names of the settings, for flags and the record.
const (
	PortSetting    = "port"
	AgentSetting   = "agents"
	SlotSetting    = "artificial-slots"
	ElasticSetting = "elastic"
	TLSSetting     = "tls"
	AddressSetting = "agent-address"
	DBSetting      = "db-url-file"
	TrustSetting   = "trust-users"
	WheelSetting   = "harness-wheel"
	CertSetting    = "tls-cert-file"
	KeySetting     = "tls-key"
	CASetting      = "tls-ca-file"
	NameSetting    = "tls-name"
	// ConfigSetting records the content of the file that the flag names.
	ConfigSetting = "master-config-file"
)

// DefaultCluster is the default cluster ID.
const DefaultCluster = "local"

// Flags returns the settings of a cluster on this machine.
func Flags() spec.Table {
	typed := func(flag, path string, preset any, usage string) spec.Flag {
		return spec.Flag{Override: document.Override{Flag: flag, Path: path, Usage: usage, Default: preset}}
	}
	file := func(flag, path, usage string) spec.Flag {
		return spec.Flag{Override: document.Override{Flag: flag, Path: path, Usage: usage}, FromFile: flag == ConfigSetting, Absolute: flag == DBSetting || flag == WheelSetting}
	}
	return append(spec.Table{
		typed(PortSetting, "port", 8080, "port of the master"),
		typed(AgentSetting, "agents", 1, "number of agents"),
		typed(SlotSetting, "artificial_slots", 0, "fake slots per agent, for testing; 0 for real ones"),
		typed(ElasticSetting, "elastic", 0, "maximum number of agents that the master starts in the pool elastic when tasks wait"),
		typed(TLSSetting, "tls", false, "use TLS; without --tls-cert-file with a certificate of the cluster's own authority"),
		file(AddressSetting, "agent_address", "name or IP address at which agents on other machines reach the master; requires --tls"),
		file(DBSetting, "db_url_file", "file with the URL of a PostgreSQL database (default an embedded database)"),
		typed(TrustSetting, "trust_users", false, "allow tasks of all users even where tasks are not isolated from this machine"),
		file(WheelSetting, "harness_wheel", "wheel of the library determined, for trials whose image lacks it"),
		file(ConfigSetting, "master_config", "file with master.yaml settings that override the cluster's, such as task_policy and security"),
	}, spec.TLSFlags("own_tls")...)
}

// FromSettings reads settings, which contain every flag of the table, and validates them. It
// returns all errors at once, each with its flag.
func FromSettings(cluster string, settings map[string]string) (Spec, error) {
	var s Spec
	err := Flags().Read(&s, cluster, settings)
	if wrong, ok := errors.AsType[document.Errors](err); ok {
		for i := range wrong {
			wrong[i].Path = "" // the flag is sufficient
		}
	}
	return s, err
}

// SetDefaults clears s: the defaults of the table are among the settings.
func (s *Spec) SetDefaults() { *s = Spec{} }

// Complete sets the cluster ID, and TLS if there is a certificate.
func (s *Spec) Complete(id string) { s.Cluster, s.TLS = id, s.TLS || s.OwnTLS.Own() }

// Validate returns all errors in s.
func (s *Spec) Validate(string) document.Errors {
	var e document.Errors
	if !spec.ValidCluster(s.Cluster) {
		e = append(e, document.Problem{
			File: "--cluster-id", Text: fmt.Sprintf("must have up to 31 lower-case letters, digits and inner hyphens, beginning with a letter (is %q)", s.Cluster),
		})
	}
	e.Check(s.Port >= 1 && s.Port <= 65535, "port", "must be between 1 and 65535 (is %d)", s.Port)
	// Each agent is a process of some 20 MB. A larger number is probably a typing error.
	e.Check(s.Agents >= 0 && s.Agents <= 64, "agents", "must be between 0 and 64 (is %d)", s.Agents)
	e.Check(s.Elastic >= 0 && s.Elastic <= 64, "elastic", "must be between 0 and 64 (is %d)", s.Elastic)
	e.Check(s.Slots >= 0 && s.Slots <= 1024, "artificial_slots", "must be between 0 and 1024 (is %d)", s.Slots)
	e.Check(s.AgentAddress == "" || validHost(s.AgentAddress), "agent_address", "must be a name or an IP address, without a port (is %q)", excerpt.Of(s.AgentAddress))
	e.Check(s.AgentAddress == "" || s.TLS, "agent_address", "requires --tls, because passwords and tasks cross the network")
	e = append(e, s.OwnTLS.Validate("own_tls", "")...)
	e.Check(s.DBURLFile == "" || filepath.IsAbs(s.DBURLFile), "db_url_file", "must be an absolute path (is %q)", s.DBURLFile)
	return append(e, container.Wheel{File: s.HarnessWheel}.Validate("harness_wheel")...)
}

// hostPattern matches a host name.
var hostPattern = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$`)

func validHost(host string) bool { return net.ParseIP(host) != nil || hostPattern.MatchString(host) }

// URL returns the master's URL.
func (s Spec) URL() string {
	scheme := "http"
	if s.TLS {
		scheme = "https"
	}
	return scheme + "://127.0.0.1:" + strconv.Itoa(s.Port)
}

// Root returns the directory of all local clusters of this user.
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

// Clusters returns the clusters in root.
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
