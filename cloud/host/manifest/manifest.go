// Package manifest defines the manifest of a master's machine: its program, files and phase. The
// installer writes it to the cluster's control bucket and the machine reads it from there. Upgrades
// and configuration changes therefore need no network access to the machine.
package manifest

import (
	"encoding/json"
	"fmt"
)

// Schema is the version of the manifest format. Machines reject any other version.
const Schema = "det-deploy.manifest/v1"

// Key is the object name of the manifest in the control bucket.
const Key = "manifest.json"

// ConfigFile is the path of the master's configuration on its machine.
const ConfigFile = "/etc/determined/master.yaml"

// ProxyFile is the path of the environment file with the proxies of a machine. A machine that uses
// none has no such file.
const ProxyFile = "/etc/determined/proxy.env"

// DataDir is the master's data directory on its machine. It is on the data volume if there is one.
const DataDir = "/var/lib/determined"

// BinariesDir holds links to the manifest's programs, named by platform: "linux-arm64". It is the
// master's binaries_dir, from which agents download their program.
const BinariesDir = "/var/lib/det-deploy/binaries"

// Phase is the requested state of the master.
//
//	Serve ──an upgrade begins──▶ Hold ──committed──▶ Serve
//	  │                            │
//	  └────────────▶ Stop ◀────────┘
type Phase string

// The phases.
const (
	// Serve runs the master.
	Serve Phase = "serve"
	// Hold runs the master so that it only answers health checks. It accepts and acknowledges
	// nothing, so that a rollback to the previous version remains possible until it serves.
	Hold Phase = "hold"
	// Stop stops the master and keeps its data.
	Stop Phase = "stop"
)

// Manifest is the requested state of a master's machine.
type Manifest struct {
	Schema  string `json:"schema"`
	Cluster string `json:"cluster"`
	// Generation increases with every write. A machine ignores a manifest that is older than its
	// own.
	Generation int `json:"generation"`
	// Version is the version of the program, for display and for Status.
	Version string `json:"version"`
	Phase   Phase  `json:"phase"`
	// Binaries holds the program by architecture ("amd64", "arm64"). The machine runs the one for
	// its own architecture; the master serves all to agents.
	Binaries map[string]File `json:"binaries"`
	// Files holds the files of the machine by absolute path. It contains no secrets; configuration
	// files refer to them.
	Files map[string]File `json:"files"`
	// Health is the master's health check.
	Health Health `json:"health"`
	// Fallback allows a rollback to the last healthy files of the same program if the master does
	// not become healthy in time. It is valid for Serve only: a master on hold has changed nothing,
	// and the author of the Hold manifest decides.
	Fallback bool `json:"fallback,omitempty"`
	// Logs is the CloudWatch log group for the machine's journal. If it is empty, logs are not
	// shipped.
	Logs string `json:"logs,omitempty"`
	// Metrics enables CloudWatch metrics of the machine.
	Metrics bool `json:"metrics,omitempty"`
}

// Health is a health check of the master on its own machine.
type Health struct {
	// URL is a loopback URL: "https://127.0.0.1:8443/health".
	URL string `json:"url"`
	// CA is the file in Files that holds the trusted certificates. Name is the server name of the
	// master's certificate. Both are empty for http.
	CA   string `json:"ca,omitempty"`
	Name string `json:"name,omitempty"`
}

// File is an object in the control bucket.
type File struct {
	// Key is the object's name, SHA256 its checksum in lowercase hexadecimal.
	Key    string `json:"key"`
	SHA256 string `json:"sha256"`
	// Mode is the file mode on the machine. Zero means 0600.
	Mode Mode `json:"mode,omitempty"`
}

// BinaryKey returns the object name of a program with a checksum.
func BinaryKey(sha256 string) string { return "bin/" + sha256 + "/det-deploy" }

// FileKey returns the object name of a file with a checksum.
func FileKey(sha256 string) string { return "files/" + sha256 }

// Parse parses and validates a manifest. It ignores unknown keys, because newer installers write to
// older machines.
func Parse(data []byte) (Manifest, error) {
	var m Manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return Manifest{}, fmt.Errorf("read %s: %w", Key, err)
	}
	if err := m.Validate(); err != nil {
		return Manifest{}, fmt.Errorf("read %s: %w", Key, err)
	}
	return m, nil
}

// Encode validates and encodes a manifest.
func (m Manifest) Encode() ([]byte, error) {
	if err := m.Validate(); err != nil {
		return nil, fmt.Errorf("write %s: %w", Key, err)
	}
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", Key, err)
	}
	return append(data, '\n'), nil
}
