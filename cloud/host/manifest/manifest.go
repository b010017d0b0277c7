// Package manifest says what a master's machine is to run: which program, which
// files, and whether to serve. The installer writes it into the cluster's
// control bucket, the machine reads it from there, so that a new version or
// configuration is a pointer that moves and needs no way into the machine's
// network.
package manifest

import (
	"encoding/json"
	"fmt"
)

// Schema names the form of a manifest. A machine refuses another one.
const Schema = "det-deploy.manifest/v1"

// Key is the manifest's place in the control bucket.
const Key = "manifest.json"

// ConfigFile is where the master's configuration stands on its machine.
const ConfigFile = "/etc/determined/master.yaml"

// DataDir is where the master keeps its data on its machine: on the data volume
// where there is one.
const DataDir = "/var/lib/determined"

// BinariesDir holds the manifest's programs under the names by which a master
// hands them out, "linux-arm64". It is for the master's binaries_dir.
const BinariesDir = "/var/lib/det-deploy/binaries"

// Phase is what the master's machine is to do with its master.
//
//	Serve ──an upgrade begins──▶ Hold ──committed──▶ Serve
//	  │                            │
//	  └────────────▶ Stop ◀────────┘
type Phase string

// The phases.
const (
	// Serve runs the master.
	Serve Phase = "serve"
	// Hold runs the master so that it answers whether it is well, accepts
	// nothing and acknowledges nothing: until it serves, the version before it
	// can still be put back.
	Hold Phase = "hold"
	// Stop stops the master, and leaves its data as they are.
	Stop Phase = "stop"
)

// Manifest is what a master's machine is to run.
type Manifest struct {
	Schema  string `json:"schema"`
	Cluster string `json:"cluster"`
	// Generation grows with every write. A machine ignores one that is older
	// than what it has.
	Generation int `json:"generation"`
	// Version is that of the wanted program, for people and for Status.
	Version string `json:"version"`
	Phase   Phase  `json:"phase"`
	// Binaries is the program by architecture ("amd64", "arm64"). The machine's
	// own is run there; all are served to agents.
	Binaries map[string]File `json:"binaries"`
	// Files is what stands on the machine, by absolute path. A secret is never
	// among them: configuration refers to it.
	Files map[string]File `json:"files"`
	// Health is where the master answers on its machine.
	Health Health `json:"health"`
	// Fallback lets the machine go back to the last files that were well with the
	// same program when these are not in time after their start. It is for Serve
	// only: a master on hold changed nothing and is judged by who wrote Hold.
	Fallback bool `json:"fallback,omitempty"`
	// Logs is the CloudWatch group for the machine's journal. It is empty when
	// the journal stays on the machine.
	Logs string `json:"logs,omitempty"`
	// Metrics lets the machine report its use to CloudWatch.
	Metrics bool `json:"metrics,omitempty"`
}

// Health is where a master answers on its own machine.
type Health struct {
	// URL is loopback's: "https://127.0.0.1:8443/health".
	URL string `json:"url"`
	// CA is a file of Files that holds the certificates to trust, and Name what
	// the master's certificate is for. Both are empty for http.
	CA   string `json:"ca,omitempty"`
	Name string `json:"name,omitempty"`
}

// File is one object of the control bucket.
type File struct {
	// Key is its place in the bucket, SHA256 the hash of its content in lower
	// case hexadecimal.
	Key    string `json:"key"`
	SHA256 string `json:"sha256"`
	// Mode is its permissions on the machine. Zero means 0600.
	Mode Mode `json:"mode,omitempty"`
}

// BinaryKey is the place of a program with that hash.
func BinaryKey(sha256 string) string { return "bin/" + sha256 + "/det-deploy" }

// FileKey is the place of a file with that hash.
func FileKey(sha256 string) string { return "files/" + sha256 }

// Parse reads a manifest and validates it. Keys that it does not know are
// ignored: a machine outlives the installer's next version.
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

// Encode validates a manifest and writes it.
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
