package manifest

import (
	"encoding/json"
	"fmt"
	"time"
)

// StatusSchema names the form of a status.
const StatusSchema = "det-deploy.status/v1"

// StatusKey is its place in the control bucket. Below "status/" is all that the
// master's machine may write.
const StatusKey = "status/master.json"

// Status is what the master's machine says it runs. It is written when
// something in it changed, and every StatusEvery besides.
type Status struct {
	Schema string `json:"schema"`
	// Generation is that of the last manifest that was read, whether or not it
	// could be carried out.
	Generation int `json:"generation"`
	// Version, Phase and ConfigSHA256 are what runs: after a way back they are
	// those of the version before.
	Version string `json:"version"`
	Phase   Phase  `json:"phase"`
	// ConfigSHA256 is the hash of ConfigFile.
	ConfigSHA256 string `json:"config_sha256"`
	// Ready means that the master answers that it is well, in this phase.
	Ready bool `json:"ready"`
	// Error is why it is not, or why what runs is not what is wanted. It is
	// empty while a master that was started is still given time to answer.
	Error    string    `json:"error,omitempty"`
	Instance string    `json:"instance"`
	At       time.Time `json:"at"`
}

// StatusEvery is how often a machine that has nothing to say says so. An
// operator takes one that was silent for longer for one that is gone.
const StatusEvery = 5 * time.Minute

// Same reports whether two statuses say the same, whenever they were written.
func (s Status) Same(o Status) bool {
	s.At, o.At = time.Time{}, time.Time{}
	return s == o
}

// Reached reports whether the machine runs what m wants and is well.
func (s Status) Reached(m Manifest) bool {
	return s.Generation >= m.Generation && s.Version == m.Version && s.Phase == m.Phase &&
		s.ConfigSHA256 == m.Files[ConfigFile].SHA256 && s.Error == "" && (s.Ready || m.Phase == Stop)
}

// ParseStatus reads a status.
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
