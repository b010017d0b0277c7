package command

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/cmd/internal/exit"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
)

// watchPeriod is the time between two requests of --watch.
const watchPeriod = 2 * time.Second

// watch shows the list until it is interrupted: on a terminal, the table is drawn again; elsewhere, new and
// changed items are printed as they come.
func (l List[O, T]) watch(ctx context.Context, o O, master *client.Client) error {
	seen := map[string]string{}
	screen := o.local().NewScreen()
	for {
		items, err := l.fetch(ctx, o, master)
		if err != nil {
			return exit.Followed(ctx, err)
		}
		if screen != nil && o.local().Output.IsText() {
			err = screen.Draw(o.local().TableLines(Tabulate(l.Columns, items), o.local().look()))
		} else {
			err = l.printChanges(o.local(), items, seen)
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return exit.Followed(ctx, ctx.Err())
		case <-time.After(watchPeriod):
		}
	}
}

// printChanges prints the items that are not in seen in this form, and adds them. The headings are printed
// once.
func (l List[O, T]) printChanges(o *Local, items []T, seen map[string]string) error {
	var changed []T
	first := len(seen) == 0
	for _, item := range items {
		name, form := l.nameOf(item), formOf(item)
		if seen[name] != form {
			changed = append(changed, item)
		}
		seen[name] = form
	}
	if o.Output.IsTable() && len(changed) > 0 {
		return o.AppendTable(o.Output, Tabulate(l.Columns, changed), o.look(), first)
	}
	for _, item := range changed {
		if err := l.printChange(o, item); err != nil {
			return err
		}
	}
	return nil
}

func (l List[O, T]) nameOf(item T) string {
	if l.Name != nil {
		return l.Name(item)
	}
	return fmt.Sprint(l.Columns[0].Value(item))
}

func (l List[O, T]) printChange(o *Local, item T) error {
	if l.Object == nil {
		return o.printChange(item)
	}
	v, err := l.Object(item)
	if err != nil {
		return err
	}
	return o.printChange(v)
}

// printChange prints one item: JSON on one line, YAML as a document.
func (o *Local) printChange(item any) error {
	m, isMessage := item.(proto.Message)
	if isMessage && o.Output == term.JSONv1 {
		return o.PrintMessageLine(m)
	}
	v, err := objectOf(item)
	if err != nil {
		return err
	}
	switch o.Output {
	case term.JSON, term.JSONv1:
		return o.PrintJSONLine(v)
	case term.YAML:
		o.Printf("---")
	default:
	}
	return o.PrintObject(o.Output, v)
}

func formOf(item any) string {
	if m, ok := item.(proto.Message); ok {
		raw, _ := proto.MarshalOptions{Deterministic: true}.Marshal(m) // it was decoded
		return string(raw)
	}
	return fmt.Sprint(item)
}
