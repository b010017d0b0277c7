// Package build describes this build of det-deploy. `det-deploy version` prints it, and masters and agents
// exchange it.
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
// It is empty in a build from a checkout, which is named after its commit.
var version string

// Info describes a binary.
type Info struct {
	// Version is the release, such as "v1.2.3", or "dev" followed by the commit.
	Version string `json:"version"`
	// Commit is the source revision, or empty if unknown.
	Commit string `json:"commit"`
	// Modified is true if the source differed from the commit.
	Modified bool `json:"modified"`
	// Time is the time of the commit.
	Time string `json:"commit_time"`
	// Go is the version of the compiler.
	Go string `json:"go"`
	// Platform is the target platform, such as "linux/amd64".
	Platform string `json:"platform"`
}

// Read returns the build information embedded in this binary.
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

// unreleasedName returns the name of a build from a checkout, such as "dev-1a2b3c4d" or
// "dev-1a2b3c4d-modified".
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
