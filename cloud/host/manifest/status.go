package manifest

import (
	"encoding/json"
	"fmt"
	"time"
)

// StatusSchema is the version of the status format.
const StatusSchema = "det-deploy.status/v1"

// StatusKey is the object name of the status in the control bucket. The master's machine may write
// below "status/" only.
const StatusKey = "status/master.json"

// Status is reported by the master's machine. It is written after a change, and at least every
// StatusEvery.
type Status struct {
	Schema string `json:"schema"`
	// Generation is the generation of the last manifest read, applied or not.
	Generation int `json:"generation"`
	// Version, Phase and ConfigSHA256 describe the running master. After a rollback they are those
	// of the previous manifest.
	Version string `json:"version"`
	Phase   Phase  `json:"phase"`
	// ConfigSHA256 is the checksum of ConfigFile.
	ConfigSHA256 string `json:"config_sha256"`
	// Ready reports whether the master's health check succeeded in this phase.
	Ready bool `json:"ready"`
	// Error is the reason why the master is not ready or the manifest is not applied. It is empty
	// while a started master may still become healthy.
	Error    string    `json:"error,omitempty"`
	Instance string    `json:"instance"`
	At       time.Time `json:"at"`
}

// StatusEvery is the interval of status reports without a change. A machine that has been silent
// for longer counts as lost.
const StatusEvery = 5 * time.Minute

// Same reports whether two statuses are equal apart from their time.
func (s Status) Same(o Status) bool {
	s.At, o.At = time.Time{}, time.Time{}
	return s == o
}

// Reached reports whether the machine runs manifest m and is healthy.
func (s Status) Reached(m Manifest) bool {
	return s.Generation >= m.Generation && s.Version == m.Version && s.Phase == m.Phase &&
		s.ConfigSHA256 == m.Files[ConfigFile].SHA256 && s.Error == "" && (s.Ready || m.Phase == Stop)
}

// ParseStatus parses a status. It returns an error if the schema is unknown.
func ParseStatus(data []byte) (Status, error) {
	var s Status
	if err := json.Unmarshal(data, &s); err != nil {
		return Status{}, fmt.Errorf("read %s: %w", StatusKey, err)
	}
	if s.Schema != StatusSchema {
		return Status{}, fmt.Errorf("read %s: schema: must be %s (%s)", StatusKey, StatusSchema, s.Schema)
	}
	return s, nil
}
