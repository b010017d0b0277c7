package term

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// defaultProgram is the name of the program where PATH leads to it.
const defaultProgram = "det-deploy"

// Command returns the command line that passes arguments to this program, as the user can
// type it from here: by the program's name where PATH leads to it, otherwise by the path
// that started it.
func (s *Streams) Command(arguments string) string {
	return cmp.Or(s.program, defaultProgram) + " " + arguments
}

// programName returns how the user can start the program that was started as arg0. A
// name without a directory was found in PATH.
func programName(arg0 string) string {
	if filepath.Base(arg0) == arg0 {
		return defaultProgram
	}
	if found, err := exec.LookPath(defaultProgram); err == nil && isSameFile(found, arg0) {
		return defaultProgram
	}
	if strings.ContainsAny(arg0, " \t'\"$\\") {
		return "'" + strings.ReplaceAll(arg0, "'", `'\''`) + "'"
	}
	return arg0
}

func isSameFile(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	two, err := os.Stat(b)
	return err == nil && os.SameFile(one, two)
}
