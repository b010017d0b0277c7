package record

import "maps"

// Release is one version of the program that runs on the machines of a cluster.
type Release struct {
	// Version is the version that the program reports. Two builds may have the same version.
	Version string `json:"version"`
	// Programs maps platforms such as "linux-amd64" to the programs' SHA-256 in hexadecimal.
	Programs map[string]string `json:"programs,omitempty"`
}

// IsZero reports whether the release is unknown.
func (r Release) IsZero() bool { return r.Version == "" && len(r.Programs) == 0 }

// Same reports whether the versions are equal, and also the programs of every platform that both
// name.
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

// String returns the version, such as "v1.2.3"; for a build without a version, it adds the start of
// a program's hash.
func (r Release) String() string {
	if r.Version == "" {
		return "an unknown version"
	}
	return r.Version
}

// Upgrade is recorded before anything is stopped, so that a process that continues it knows the
// previous release.
type Upgrade struct {
	From Release `json:"from"`
	To   Release `json:"to"`
	// Backup is the location of the backup made before To opened the store, or "" before that.
	Backup string `json:"backup,omitempty"`
	// Committed is set before To may start to serve. From then on, the upgrade cannot be undone.
	Committed bool `json:"committed,omitempty"`
	// Answered is set when To has answered, after which only To can use the store.
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
