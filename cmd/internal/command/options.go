package command

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
)

// Base holds the options of every command.
type Base struct {
	*term.Streams

	// Args are the arguments.
	Args []string
	// Given reports whether a flag was given.
	Given func(flag string) bool
}

func (o *Base) addFlags(_ *cobra.Command, s *term.Streams) { o.Streams = s }

func (o *Base) read(c *cobra.Command, args []string) { o.Args, o.Given = args, c.Flags().Changed }

// Local holds the options of a command that prints an answer.
type Local struct {
	Base

	Output term.Format
	// Shows is true if the answer is a table or a description, which further formats show.
	Shows bool
	// UTC shows dates in UTC.
	UTC bool
	// List are the flags of a list.
	List ListFlags
}

func (o *Local) addFlags(c *cobra.Command, s *term.Streams) {
	o.Base.addFlags(c, s)
	if !o.Shows {
		o.Output.AddAnswerFlag(c.Flags())
		return
	}
	o.Output.AddShownFlag(c.Flags())
}

// Remote holds the options of a command that connects to the master.
type Remote struct {
	Local
	contexts.MasterFlag

	// Names are the objects that the arguments name, if the master knows them: by their ID, its
	// beginning, or their name. The run function gets IDs.
	Names client.Noun
	// Nouns are the objects of the first arguments if they differ; "" is no object.
	Nouns []client.Noun
	// Open makes the arguments complete with the objects alone that have not ended.
	Open bool
}

// nounOf returns the objects that an argument names, or "".
func (o *Remote) nounOf(arg int) client.Noun {
	if arg < len(o.Nouns) {
		return o.Nouns[arg]
	}
	return o.Names
}

type remoteOptions interface {
	Options
	DialMaster() (*client.Client, error)
	resolveArgs(ctx context.Context, master *client.Client) error
	local() *Local
	remote() *Remote
}

func (o *Local) local() *Local { return o }

func (o *Remote) remote() *Remote { return o }

func (o *Remote) addFlags(c *cobra.Command, s *term.Streams) {
	o.Local.addFlags(c, s)
	o.AddFlag(c.Flags())
	// It fails only for an unknown or a completed flag.
	_ = c.RegisterFlagCompletionFunc("master", contexts.Completer(s))
	if o.Names != "" || len(o.Nouns) > 0 {
		c.ValidArgsFunction = o.completeArgs
	}
}

// DialMaster returns a client for the master selected by the flags.
func (o *Remote) DialMaster() (*client.Client, error) { return o.Dial(o.Streams) }

// ForEach calls do for every name, even if some calls fail. It returns the results of the successful calls
// and the joined errors.
func ForEach[T any](names []string, do func(name string) (T, error)) ([]T, error) {
	done := []T{}
	var errs []error
	for _, name := range names {
		one, err := do(name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		done = append(done, one)
	}
	return done, errors.Join(errs...)
}
