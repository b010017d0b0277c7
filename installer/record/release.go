package record

import "maps"

// Release is one version of the program, as the machines of a cluster run it.
type Release struct {
	// Version is what the program calls itself. Two builds may have one version.
	Version string `json:"version"`
	// Programs are their SHA-256 in hexadecimal, by platform: "linux-amd64".
	Programs map[string]string `json:"programs,omitempty"`
}

// IsZero reports whether nothing is known of the release.
func (r Release) IsZero() bool { return r.Version == "" && len(r.Programs) == 0 }

// Same reports whether o is this release, as far as both say: by version, and by
// program for every platform that both name.
func (r Release) Same(o Release) bool {
	if r.Version != o.Version {
		return false
	}
	for platform, sum := range r.Programs {
		if other, both := o.Programs[platform]; both && other != sum {
			return false
		}
	}
	return true
}

// String names the release: "v1.2.3", and a build without a version of its own by
// the start of a program's hash too.
func (r Release) String() string {
	if r.Version == "" {
		return "an unknown version"
	}
	return r.Version
}

// Upgrade is stored before anything is stopped, so that the process that continues
// knows the way back.
type Upgrade struct {
	From Release `json:"from"`
	To   Release `json:"to"`
	// Backup is where the store was kept before To saw it; it is empty before.
	Backup string `json:"backup,omitempty"`
	// Committed is true from the moment at which To may have begun to serve. There
	// is no way back from there.
	Committed bool `json:"committed,omitempty"`
	// Answered is true when To has answered: the store is its own from there.
	Answered bool `json:"answered,omitempty"`
}

func (u *Upgrade) cloneUpgrade() *Upgrade {
	if u == nil {
		return nil
	}
	c := *u
	c.From, c.To = c.From.cloneRelease(), c.To.cloneRelease()
	return &c
}

func (r Release) cloneRelease() Release {
	r.Programs = maps.Clone(r.Programs)
	return r
}
