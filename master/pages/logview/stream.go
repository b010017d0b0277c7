package logview

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/master/pages/ui"
)

var lineTemplate = template.Must(template.ParseFS(files, "lines.html"))

const (
	// mostTogether is the number of lines of one event.
	mostTogether = 200
	// keepAlive is the interval at which a stream without lines sends a comment, which finds out whether the
	// visitor has left.
	keepAlive = 20 * time.Second
	// sendTime is the time for a visitor to receive an event.
	sendTime = time.Minute
)

// streamLog sends the lines of a log as they come, as server-sent events. A browser that reconnects names the
// last line that it has.
func streamLog(v *ui.Visit, s Source) error {
	q := ParseFilter(v.URL.Query()).Query()
	q.Before, q.Follow, q.After = "", true, lineID(v.URL.Query().Get("after"))
	if last := lineID(v.Header.Get("Last-Event-ID")); last != "" {
		q.After = last
	}
	w := v.Writer()
	w.Header().Set("Content-Type", "text/event-stream")
	out := &events{w: w, filter: ParseFilter(v.URL.Query())}
	ctx, cancel := context.WithCancel(v.Context())
	lines := make(chan item, mostTogether)
	go func() {
		defer close(lines)
		for e, err := range s.Read(ctx, q) {
			select {
			case lines <- item{e, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	defer func() {
		cancel()
		for range lines { // the reader ends
		}
	}()
	out.send(lines) // the visitor may have left
	return nil
}

// item is a line, or the error that ends a log.
type item struct {
	Entry

	err error
}

// events writes server-sent events.
type events struct {
	w      http.ResponseWriter
	filter Filter
	err    error
}

// send writes the lines until they end or the visitor leaves.
func (o *events) send(lines <-chan item) {
	tick := time.NewTicker(keepAlive)
	defer tick.Stop()
	o.write(": the lines follow\n\n")
	for o.err == nil {
		select {
		case <-tick.C:
			o.write(":\n\n")
		case first, more := <-lines:
			if !more {
				o.write("event: end\ndata: The log has ended.\n\n")
				return
			}
			if failed := o.sendBatch(first, lines); failed != nil {
				o.sendFailure(failed)
				return
			}
		}
	}
}

// sendBatch writes a line together with those that are ready. It returns the error that ends the log.
func (o *events) sendBatch(first item, lines <-chan item) error {
	var batch []Entry
	next, more := first, true
	for more && next.err == nil {
		batch = append(batch, next.Entry)
		if len(batch) == mostTogether {
			break
		}
		select {
		case got, open := <-lines:
			if !open {
				more = false
				break
			}
			next = got
		default:
			more = false
		}
	}
	if len(batch) > 0 {
		o.writeLines(batch)
	}
	return next.err
}

func (o *events) writeLines(batch []Entry) {
	var b bytes.Buffer
	if err := lineTemplate.ExecuteTemplate(&b, "lines", ShowLines(batch, o.filter)); err != nil {
		o.err = err
		return
	}
	o.write(fmt.Sprintf("id: %s\nevent: lines\ndata: %s\n\n", batch[len(batch)-1].GetId(), strings.ReplaceAll(b.String(), "\n", "\ndata: ")))
}

// sendFailure writes the error that ended a log. The browser opens a log whose master restarts again by
// itself.
func (o *events) sendFailure(err error) {
	if text := ui.Sentence(err); text != "" && !errors.Is(err, context.Canceled) {
		o.write("event: problem\ndata: " + strings.ReplaceAll(ui.Plain(text), "\n", " ") + "\n\n")
	}
}

func (o *events) write(text string) {
	if o.err != nil {
		return
	}
	c := http.NewResponseController(o.w)
	_ = c.SetWriteDeadline(time.Now().Add(sendTime)) // not supported by recorders in tests
	if _, o.err = io.WriteString(o.w, text); o.err == nil {
		o.err = c.Flush()
	}
}
