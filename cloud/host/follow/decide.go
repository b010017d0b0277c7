package follow

import (
	"maps"
	"time"

	"github.com/det-deploy/det-deploy/cloud/host/manifest"
)

// State is the follower's state on disk.
type State struct {
	// Wanted is the last manifest read from the bucket, Applied the manifest in effect on the
	// machine, Good the last manifest with which the master was healthy in the Serve phase.
	Wanted  *manifest.Manifest `json:"wanted,omitempty"`
	Applied *manifest.Manifest `json:"applied,omitempty"`
	Good    *manifest.Manifest `json:"good,omitempty"`
	// Started is the time at which Applied was started.
	Started time.Time `json:"started"`
	// Rejected is the generation that was rolled back to Good, and Why the reason.
	Rejected int    `json:"rejected,omitempty"`
	Why      string `json:"why,omitempty"`
}

// Seen is an observation of the master's unit.
type Seen struct {
	// Running reports whether the unit is active, activating or about to be restarted.
	Running bool
	// Well reports whether the master's health check succeeded.
	Well bool
}

// Act is the next action of a follower.
type Act string

// The actions.
const (
	// Keep changes nothing.
	Keep Act = "keep"
	// Apply installs the wanted manifest and starts the master, or stops it.
	Apply Act = "apply"
	// Adopt records the wanted manifest as applied without a restart, because it does not change
	// the master's program, files or phase.
	Adopt Act = "adopt"
	// Back rolls back to the last good manifest.
	Back Act = "back"
	// Start and Stop only start and stop the unit.
	Start Act = "start"
	Stop  Act = "stop"
)

// Decide returns the next action. It is a pure function of its arguments.
func Decide(s State, seen Seen, arch string, patience time.Duration, now time.Time) Act {
	switch {
	case s.Wanted == nil:
		return Keep
	case s.Applied == nil:
		return Apply
	case s.Wanted.Generation != s.Applied.Generation && s.Wanted.Generation != s.Rejected:
		if sameProgram(*s.Wanted, *s.Applied) {
			return Adopt
		}
		return Apply
	case s.Applied.Phase == manifest.Stop && seen.Running:
		return Stop
	case s.Applied.Phase == manifest.Stop:
		return Keep
	case !seen.Well && s.mayGoBack(arch) && now.Sub(s.Started) >= patience:
		return Back
	case !seen.Running:
		return Start
	}
	return Keep
}

// mayGoBack reports whether the installer allows a rollback and there is a good manifest with the
// same program. It never rolls back to another program: the unhealthy one may still be working on
// the store, or may have migrated it to a format that the older program cannot read. Programs are
// tested in the Hold phase, before they serve.
func (s State) mayGoBack(arch string) bool {
	return s.Applied.Fallback && s.Good != nil && !sameProgram(*s.Good, *s.Applied) && s.Good.Binaries[arch] == s.Applied.Binaries[arch]
}

// sameProgram reports whether two manifests have the same phase, programs and files. This includes
// the programs for other architectures, because the master serves them to agents.
func sameProgram(a, b manifest.Manifest) bool {
	return a.Phase == b.Phase && maps.Equal(a.Binaries, b.Binaries) && maps.Equal(a.Files, b.Files)
}
