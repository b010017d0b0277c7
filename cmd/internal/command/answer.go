package command

import (
	"context"
	"iter"

	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/cmd/internal/exit"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

// PrintAnswer prints v, a message of the API or another value, as JSON where that is
// asked for; else text prints it.
func (o *Local) PrintAnswer(v any, text func() error) error {
	if o.Output != term.JSON {
		return text()
	}
	if m, ok := v.(proto.Message); ok {
		return o.PrintMessage(m)
	}
	return o.PrintJSON(v)
}

// AnswerTable answers with v, in text as a table.
func (o *Local) AnswerTable(v any, t *term.Table) error {
	return o.PrintAnswer(v, func() error { return o.PrintTable(t) })
}

// AnswerPairs answers with v, in text as lines of a name and a value.
func (o *Local) AnswerPairs(v any, pairs ...[2]string) error {
	return o.PrintAnswer(v, func() error { return o.PrintPairs(pairs...) })
}

// AnswerLine answers with v, in text with one line.
func (o *Local) AnswerLine(v any, format string, args ...any) error {
	return o.PrintAnswer(v, func() error {
		o.Printf(format, args...)
		return nil
	})
}

// AnswerNote answers with v, where text has no answer but tells the user what was done.
func (o *Local) AnswerNote(v any, format string, args ...any) error {
	return o.PrintAnswer(v, func() error {
		o.Notef(format, args...)
		return nil
	})
}

// AnswerJSON answers with v, where text was told already.
func (o *Local) AnswerJSON(v any) error {
	return o.PrintAnswer(v, func() error { return nil })
}

// Tell tells the user what was done, unless the answer is JSON and says it itself.
func (o *Local) Tell(format string, args ...any) {
	if o.Output != term.JSON {
		o.Notef(format, args...)
	}
}

// AnswerStream answers with lines as they come: with the message of each as JSON, or as
// text writes it. An interruption ends it silently.
func AnswerStream[L any, M proto.Message](
	ctx context.Context, o *Local, lines iter.Seq2[L, error], message func(L) M, text func(M) error,
) error {
	for line, err := range lines {
		if err != nil {
			return exit.Followed(ctx, err)
		}
		m := message(line)
		if o.Output == term.JSON {
			err = o.PrintMessageLine(m)
		} else {
			err = text(m)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
