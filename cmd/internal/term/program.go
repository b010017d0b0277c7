package term

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// defaultProgram is the name of the program if PATH contains it.
const defaultProgram = "det-deploy"

// Command returns a command line for this program that the user can run: with the program's name if PATH
// contains it, or else with the path of this process.
func (s *Streams) Command(arguments string) string {
	return cmp.Or(s.program, defaultProgram) + " " + arguments
}

// spellQuoted spells the commands in a message that stand in backticks so that they can be typed.
func (s *Streams) spellQuoted(text string) string {
	return strings.ReplaceAll(text, "`"+defaultProgram+" ", "`"+s.Command(""))
}

// bareCommand matches a command in a hint that is not in backticks.
var bareCommand = regexp.MustCompile(`(^|\bsudo |\bor |\brun |: )` + defaultProgram + ` ([a-z])`)

// spellHint spells the commands in a hint so that they can be typed.
func (s *Streams) spellHint(hint string) string {
	program := strings.ReplaceAll(cmp.Or(s.program, defaultProgram), "$", "$$")
	return s.spellQuoted(bareCommand.ReplaceAllString(hint, "${1}"+program+" ${2}"))
}

// programName returns the command that starts the program with the given os.Args[0]. A name without a
// directory was found in PATH.
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
