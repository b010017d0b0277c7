package supervise

import (
	"os"
	"slices"
	"strings"
)

// Environ is this process's environment without the variables that override
// configuration files: a cluster is what its files say, whatever the shell that
// typed `up` had exported for its clients.
func Environ() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "DET_") })
}
