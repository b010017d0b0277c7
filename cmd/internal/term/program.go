package term

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// defaultProgram is the name of the program where PATH leads to it.
const defaultProgram = "det-deploy"

// Command returns a command line of this program that the user can type from here: by
// the program's name where PATH leads to it, otherwise by the path that started it.
func (s *Streams) Command(format string, args ...any) string {
	program := s.program
	if program == "" {
		program = defaultProgram
	}
	return program + " " + fmt.Sprintf(format, args...)
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
