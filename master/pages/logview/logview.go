// Package logview shows the log of a task or a trial: a page with filters, the stream that a script
// follows, and the whole log as a file.
//
//	Pages ─▶ Source.Read: lines of the API ─▶ Line ─▶ log.html, stream.go or download.go
package logview

import (
	"context"
	"embed"
	"html/template"
	"iter"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

//go:embed log.html lines.html
var files embed.FS

var logPage = ui.MustParse(files, "log.html", "lines.html")

// Entry is a line of a log in the API.
type Entry interface {
	GetId() string
	GetTimestamp() *timestamppb.Timestamp
	GetMessage() string
	GetLog() string
	GetLevel() apiv1.LogLevel
	GetRankId() int32
}

// Read reads a log.
type Read func(ctx context.Context, q client.LogQuery) iter.Seq2[Entry, error]

// OfTask returns the log of a task.
func OfTask(api *client.Client, id string) Read {
	return func(ctx context.Context, q client.LogQuery) iter.Seq2[Entry, error] {
		return entries(api.Logs(ctx, id, q))
	}
}

// OfTrial returns the log of all runs of a trial.
func OfTrial(api *client.Client, id int32) Read {
	return func(ctx context.Context, q client.LogQuery) iter.Seq2[Entry, error] {
		return entries(api.TrialLogs(ctx, id, q))
	}
}

func entries[T Entry](lines iter.Seq2[T, error]) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for e, err := range lines {
			if !yield(e, err) {
				return
			}
		}
	}
}

// Source is a log with its page.
type Source struct {
	// Title is the title of the page.
	Title string
	// Path is the path of the page.
	Path string
	// Back is the link to the object of the log.
	Back ui.Link
	// Tabs are links to the other pages of that object, if it has several.
	Tabs []ui.Link
	// File is the name of the downloaded file.
	File string
	// Ranks is the number of processes, for the filter by rank.
	Ranks int
	// Ended reports that no line follows.
	Ended bool
	Read  Read
}

// Pages returns the pages of a log below a path, such as "/det/tasks/{id}/logs". The function open returns the
// log of a visit.
func Pages(path string, open func(*ui.Visit) (Source, error)) []ui.Page {
	with := func(serve func(*ui.Visit, Source) error) func(*ui.Visit) error {
		return func(v *ui.Visit) error {
			s, err := open(v)
			if err != nil {
				return err
			}
			return serve(v, s)
		}
	}
	return []ui.Page{
		{Pattern: "GET " + path, Serve: with(showLog)},
		{Pattern: "GET " + path + "/stream", Serve: with(streamLog)},
		{Pattern: "GET " + path + "/download", Serve: with(downloadLog)},
	}
}

// pageLines is the number of lines of a page.
const pageLines = 500

// page is the data of log.html.
type page struct {
	Source

	Filter          Filter
	Levels, Streams []Option
	Lines           []Line
	// Earlier and Latest are the addresses of the lines before these, and of the last ones.
	Earlier, Latest string
	// Stream is the address of the lines after these, if there will be any.
	Stream string
	// Download is the address of the file.
	Download string
	// Problem is the error in the filter.
	Problem string
}

// LastRank returns the rank of the last process.
func (p page) LastRank() int { return p.Ranks - 1 }

// Option is a choice of a filter.
type Option struct {
	Value, Text string
	Selected    bool
}

func options(selected string, values ...string) []Option {
	out := make([]Option, 0, len(values))
	for _, v := range values {
		out = append(out, Option{v, "From " + strings.ToLower(v), v == selected})
	}
	return out
}

func showLog(v *ui.Visit, s Source) error {
	f := ParseFilter(v.URL.Query())
	q := f.Query()
	q.Tail = pageLines + 1
	list, err := collect(s.Read(v.Context(), q))
	problem := ""
	if client.KindOf(err) == client.Invalid {
		problem, err = ui.Sentence(err), nil
	}
	if err != nil {
		return err
	}
	p := newPage(s, f, list, problem)
	return v.Show(logPage, s.Title, p)
}

// newPage returns the page of the last lines of a log that a filter selects: at most one more than are shown.
func newPage(s Source, f Filter, list []Entry, problem string) page {
	p := page{
		Source: s, Filter: f, Problem: problem, Download: f.address(s.Path+"/download", ""),
		Levels: options(f.Level, levels...), Streams: options(f.Stream, "stdout", "stderr"),
	}
	if len(list) > pageLines {
		list = list[len(list)-pageLines:]
		p.Earlier = f.address(s.Path, list[0].GetId())
	}
	p.Lines = ShowLines(list, f)
	switch {
	case f.Before != "":
		p.Latest = f.address(s.Path, "")
	case !s.Ended && problem == "":
		last := ""
		if len(list) > 0 {
			last = list[len(list)-1].GetId()
		}
		p.Stream = f.streamAddress(s.Path+"/stream", last)
	}
	return p
}

func collect(lines iter.Seq2[Entry, error]) ([]Entry, error) {
	var list []Entry
	for e, err := range lines {
		if err != nil {
			return list, err
		}
		list = append(list, e)
	}
	return list, nil
}

// Last returns the last lines of a log for another page, or "" if it is empty.
func Last(ctx context.Context, read Read, n int) (template.HTML, error) {
	list, err := collect(read(ctx, client.LogQuery{Tail: n}))
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = lineTemplate.ExecuteTemplate(&b, "lines", ShowLines(list, Filter{}))
	return template.HTML(strings.TrimSpace(b.String())), err //nolint:gosec // the template escapes it
}
