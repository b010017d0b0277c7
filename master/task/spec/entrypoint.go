package spec

import (
	"strings"

	"github.com/det-deploy/det-deploy/internal/document"
)

// Entrypoint is a program and its arguments, or one command line for the shell.
type Entrypoint []string

// UnmarshalDocument reads a list, or a text as a list of one.
func (e *Entrypoint) UnmarshalDocument(v document.Value) {
	if v.IsText() {
		var line string
		if v.Decode(&line) {
			*e = Entrypoint{line}
		}
		return
	}
	var list []string
	if v.Decode(&list) {
		*e = list
	}
}

// MarshalDocument returns the list.
func (e Entrypoint) MarshalDocument() any { return []string(e) }

// DocumentShape names the written form.
func (Entrypoint) DocumentShape() string { return "list of text, or text" }

// Argv returns the command to execute. One element is a command line for the image's shell, so that `det
// command run "a | b"` works as expected; several need no shell, so that an image with only the program
// works. An empty entrypoint is a command line that does nothing, as in Determined 0.38.1.
func (e Entrypoint) Argv() []string {
	if len(e) < 2 {
		return []string{"/bin/sh", "-c", strings.Join(e, "")}
	}
	return e
}
