package command

import (
	"context"
	"iter"

	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/cmd/internal/exit"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

// PrintAnswer prints v, an API message or another value, as JSON if requested. Otherwise it calls text.
func (o *Local) PrintAnswer(v any, text func() error) error {
	if o.Output != term.JSON {
		return text()
	}
	if m, ok := v.(proto.Message); ok {
		return o.PrintMessage(m)
	}
	return o.PrintJSON(v)
}

// AnswerTable prints v as JSON or t as text.
func (o *Local) AnswerTable(v any, t *term.Table) error {
	return o.PrintAnswer(v, func() error { return o.PrintTable(t) })
}

// AnswerPairs prints v as JSON or pairs as text, one per line.
func (o *Local) AnswerPairs(v any, pairs ...[2]string) error {
	return o.PrintAnswer(v, func() error { return o.PrintPairs(pairs...) })
}

// AnswerLine prints v as JSON or a line of text.
func (o *Local) AnswerLine(v any, format string, args ...any) error {
	return o.PrintAnswer(v, func() error {
		o.Printf(format, args...)
		return nil
	})
}

// AnswerNote prints v as JSON or, as text, a note on stderr.
func (o *Local) AnswerNote(v any, format string, args ...any) error {
	return o.PrintAnswer(v, func() error {
		o.Notef(format, args...)
		return nil
	})
}

// AnswerJSON prints v as JSON. In text mode it prints nothing, because the notes were already printed.
func (o *Local) AnswerJSON(v any) error {
	return o.PrintAnswer(v, func() error { return nil })
}

// Tell prints a note on stderr, unless the output is JSON.
func (o *Local) Tell(format string, args ...any) {
	if o.Output != term.JSON {
		o.Notef(format, args...)
	}
}

// AnswerStream prints lines as they arrive: as JSON messages, or by calling text. It returns nil if it is
// interrupted.
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
