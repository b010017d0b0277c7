// Package verdict tells a person or a script what is wrong with a document. It
// is shared by the commands that check one.
package verdict

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/document"
)

// Options is what a checking command is asked.
type Options struct {
	*term.Streams

	File   string
	Output term.Format
}

// Command completes a command, which has its words already, with the argument
// and the flags of a check.
func Command(c *cobra.Command, s *term.Streams, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{Streams: s}
	c.Use = "validate FILE"
	c.Args = usage.Args("FILE")
	c.RunE = func(c *cobra.Command, args []string) error {
		o.File = args[0]
		return run(c.Context(), o)
	}
	o.Output.AddFlag(c.Flags())
	return c
}

// verdict is the answer in JSON.
type verdict struct {
	File     string             `json:"file"`
	Valid    bool               `json:"valid"`
	Problems []document.Problem `json:"problems"`
	NotYet   []document.Problem `json:"not_yet"`
	Warnings []document.Problem `json:"warnings"`
}

// Tell answers what reading the file came to: problems is the error of reading
// it, notYet what is right but not built, warnings what has no effect. The
// error has every complaint that keeps a role from starting.
func (o *Options) Tell(problems, notYet error, warnings []document.Problem) error {
	v := verdict{File: o.File, Problems: []document.Problem{}, NotYet: []document.Problem{}, Warnings: []document.Problem{}}
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
	if o.Output == term.JSON {
		return errors.Join(o.PrintJSON(v), all.Err())
	}
	for _, w := range v.Warnings {
		o.Notef("warning: %s", w)
	}
	if v.Valid {
		o.Printf("%s is good", o.File)
	}
	return all.Err()
}
