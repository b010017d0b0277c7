package supervise

import (
	"os"
	"slices"
	"strings"
)

// Environ returns the environment of this process without the variables that override configuration
// files. A cluster depends on its files only, and not on variables that the shell of `up` exported
// for clients.
func Environ() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "DET_") })
}
