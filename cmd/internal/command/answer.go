package command

import (
	"context"
	"iter"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/cmd/internal/exit"
	"github.com/det-deploy/det-deploy/cmd/internal/show"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

// PrintAnswer calls text, or prints v, an API message or another value, in the requested format.
func (o *Local) PrintAnswer(v any, text func() error) error {
	if o.Output.IsTable() {
		return text()
	}
	if o.Output != term.JSONv1 {
		object, err := objectOf(v)
		if err != nil {
			return err
		}
		return o.PrintObject(o.Output, object)
	}
	if m, ok := v.(proto.Message); ok {
		return o.PrintMessage(m)
	}
	return o.PrintJSON(v)
}

// objectOf returns what is printed of v as JSON.
func objectOf(v any) (any, error) {
	if m, ok := v.(proto.Message); ok {
		return show.Object(m)
	}
	return v, nil
}

// AnswerTable prints t, or v in formats that are not tables.
func (o *Local) AnswerTable(v any, t *term.Table) error {
	return o.PrintAnswer(v, func() error { return o.ShowTable(o.Output, t, o.look()) })
}

func (o *Local) look() term.Look {
	return term.Look{Wide: o.Output == term.Wide, UTC: o.UTC, Now: time.Now()}
}

// AnswerPairs prints pairs, one per line, or v in formats that are not tables. The first pair is the name.
func (o *Local) AnswerPairs(v any, pairs ...[2]string) error {
	return o.PrintAnswer(v, func() error {
		switch o.Output {
		case term.Name:
			o.Printf("%s", pairs[0][1])
			return nil
		case term.CSV:
			t := term.NewTable("NAME", "VALUE")
			for _, p := range pairs {
				t.Row(p[0], p[1])
			}
			return o.PrintCSV(t)
		default:
			return o.PrintPairs(pairs...)
		}
	})
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

// Tell prints a note on stderr, unless programs read the output.
func (o *Local) Tell(format string, args ...any) {
	if o.Output.IsText() {
		o.Notef(format, args...)
	}
}

// AnswerStream prints lines as they arrive: as messages in the requested format, or by calling text. It
// returns nil if it is interrupted.
func AnswerStream[L any, M proto.Message](
	ctx context.Context, o *Local, lines iter.Seq2[L, error], message func(L) M, text func(M) error,
) error {
	for line, err := range lines {
		if err != nil {
			return exit.Followed(ctx, err)
		}
		m := message(line)
		switch o.Output {
		case term.JSON, term.JSONv1:
			err = o.PrintMessageLine(m)
		default:
			err = o.PrintAnswer(m, func() error { return text(m) })
		}
		if err != nil {
			return err
		}
	}
	return nil
}
