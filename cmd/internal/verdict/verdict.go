// Package verdict implements the commands that validate a document.
package verdict

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/internal/document"
)

// Read reads a document. It returns settings without effect, errors, and unsupported features.
type Read func(file string) (warnings []document.Problem, problems, notYet error)

// NewValidate returns the command that validates the document of a role, such as "a master".
func NewValidate(s *term.Streams, role string, read Read) *cobra.Command {
	file := role + ".yaml"
	_, name, _ := strings.Cut(role, " ")
	return command.New(s, &command.Local{}, read.answer, &cobra.Command{
		Use:   "validate FILE",
		Short: "Validate " + file,
		Long: "Validate " + file + ` and list all errors, settings without effect, and
unsupported features. Errors and unsupported features prevent ` + role + " from starting.",
		Example: "  det-deploy " + name + " config validate /etc/determined/" + name + ".yaml",
	})
}

// verdict is the JSON output of validate.
type verdict struct {
	File     string             `json:"file"`
	Valid    bool               `json:"valid"`
	Problems []document.Problem `json:"problems"`
	NotYet   []document.Problem `json:"not_yet"`
	Warnings []document.Problem `json:"warnings"`
}

// answer prints the result of validating a file. It returns the errors that prevent the role from
// starting.
func (read Read) answer(_ context.Context, o *command.Local) error {
	file := o.Args[0]
	warnings, problems, notYet := read(file)
	v := verdict{File: file, Problems: []document.Problem{}, NotYet: []document.Problem{}, Warnings: []document.Problem{}}
	v.Warnings = append(v.Warnings, warnings...)
	if complaints, found := errors.AsType[document.Errors](problems); found {
		v.Problems = append(v.Problems, complaints...)
	} else if problems != nil {
		return problems
	}
	if complaints, found := errors.AsType[document.Errors](notYet); found {
		v.NotYet = append(v.NotYet, complaints...)
	}
	all := append(document.Errors(v.Problems), v.NotYet...)
	v.Valid = len(all) == 0
	return errors.Join(o.PrintAnswer(v, func() error { return printText(o, v) }), all.Err())
}

func printText(o *command.Local, v verdict) error {
	for _, w := range v.Warnings {
		o.Notef("warning: %s", w)
	}
	if v.Valid {
		o.Printf("%s is valid", v.File)
	}
	return nil
}
