package follow

import (
	"maps"
	"time"

	"github.com/det-deploy/det-deploy/cloud/host/manifest"
)

// State is what the machine remembers of its master across restarts.
type State struct {
	// Wanted is the last manifest that was read, Applied what stands on the
	// machine, Good the last of those with which the master served and was well.
	Wanted  *manifest.Manifest `json:"wanted,omitempty"`
	Applied *manifest.Manifest `json:"applied,omitempty"`
	Good    *manifest.Manifest `json:"good,omitempty"`
	// Started is when Applied was started.
	Started time.Time `json:"started"`
	// Rejected is the generation that was given up for Good, and Why.
	Rejected int    `json:"rejected,omitempty"`
	Why      string `json:"why,omitempty"`
}

// Seen is how the master's unit looks at one moment.
type Seen struct {
	// Running means that the unit runs, is being started or will be again.
	Running bool
	// Well means that the master answers that it is well.
	Well bool
}

// Act is what is to be done next.
type Act string

// The acts.
const (
	// Keep leaves everything as it is.
	Keep Act = "keep"
	// Apply puts what is wanted in place and starts it, or stops the master.
	Apply Act = "apply"
	// Adopt takes what is wanted for what stands, because the two differ in
	// nothing that a master would have to be restarted for.
	Adopt Act = "adopt"
	// Back puts the last good in place again.
	Back Act = "back"
	// Start and Stop change the unit only.
	Start Act = "start"
	Stop  Act = "stop"
)

// Decide is pure: the same state, look and clock always give the same act.
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

// mayGoBack reports whether the installer allows it and there is somewhere to
// go to. Another program is no such place: the one that is not well may be busy
// with the store, or have brought it to a form that the older one cannot read.
// Whether a program is fit is tried on hold, before it serves.
func (s State) mayGoBack(arch string) bool {
	return s.Applied.Fallback && s.Good != nil && !sameProgram(*s.Good, *s.Applied) && s.Good.Binaries[arch] == s.Applied.Binaries[arch]
}

// sameProgram reports whether a machine that runs a runs b. The programs of other
// architectures count: the master hands them out.
func sameProgram(a, b manifest.Manifest) bool {
	return a.Phase == b.Phase && maps.Equal(a.Binaries, b.Binaries) && maps.Equal(a.Files, b.Files)
}
