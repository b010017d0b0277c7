package config

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"strings"
)

// An experiment keeps its checkpoints in a directory of its own below that of a storage of type
// shared_fs, such as experiment-7-1f3a90cc. The mark makes it another one than that of an earlier
// cluster's experiment with the same number.
var ownDirectory = regexp.MustCompile(`^experiment-[0-9]+-[0-9a-f]{8}$`)

// OwnDirectory names the directory of an experiment; mark has 8 hexadecimal digits.
func OwnDirectory(experiment int32, mark string) string {
	return fmt.Sprintf("experiment-%d-%s", experiment, mark)
}

// AboveOwn cuts a path before the first directory that is an experiment's own. Own is the
// directory's name, empty when there is none.
func AboveOwn(dir string) (above, own string) {
	parts := strings.Split(dir, "/")
	for i, p := range parts {
		if ownDirectory.MatchString(p) {
			return strings.Join(parts[:i], "/"), p
		}
	}
	return dir, ""
}

// Inside returns the directory of checkpoints, relative to host_path.
func (s SharedFSStorage) Inside() string {
	inside := cmp.Or(s.StoragePath, s.CheckpointPath)
	if path.IsAbs(inside) {
		inside = strings.TrimPrefix(path.Clean(inside), path.Clean(s.HostPath))
	}
	return strings.TrimPrefix(path.Clean("/"+inside), "/")
}

// Directory returns the directory of checkpoints on the machine.
func (s SharedFSStorage) Directory() string { return path.Join(s.HostPath, s.Inside()) }
