// Package build says which det-deploy this is: what `det-deploy version` prints
// and what a master and its agents tell each other.
package build

import (
	"runtime"
	"runtime/debug"
	"strings"
)

// version is set by the linker for a release:
//
//	go build -ldflags "-X github.com/det-deploy/det-deploy/cmd/internal/build.version=v1.2.3"
//
// A build from a checkout has none and is named after its commit.
var version string

// Info is what is known about a binary.
type Info struct {
	// Version is the release, "v1.2.3", or "dev" with the commit it was built from.
	Version string `json:"version"`
	// Commit is the revision of the source, empty where it is not known.
	Commit string `json:"commit"`
	// Modified is true when the source differed from the commit.
	Modified bool `json:"modified"`
	// Time is when the commit was made.
	Time string `json:"commit_time"`
	// Go is the compiler.
	Go string `json:"go"`
	// Platform is what it was built for: "linux/amd64".
	Platform string `json:"platform"`
}

// Read returns what the linker and the compiler left in this binary.
func Read() Info {
	i := Info{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if b, ok := debug.ReadBuildInfo(); ok {
		i = i.with(b.Settings)
	}
	if i.Version == "" {
		i.Version = i.unreleasedName()
	}
	return i
}

func (i Info) with(settings []debug.BuildSetting) Info {
	for _, s := range settings {
		switch s.Key {
		case "vcs.revision":
			i.Commit = s.Value
		case "vcs.modified":
			i.Modified = s.Value == "true"
		case "vcs.time":
			i.Time = s.Value
		}
	}
	return i
}

// unreleasedName names a build from a checkout: "dev-1a2b3c4d", with "-modified".
func (i Info) unreleasedName() string {
	parts := []string{"dev"}
	if len(i.Commit) >= 8 {
		parts = append(parts, i.Commit[:8])
	}
	if i.Modified {
		parts = append(parts, "modified")
	}
	return strings.Join(parts, "-")
}
