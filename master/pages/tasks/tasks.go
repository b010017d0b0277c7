// Package tasks has the pages of tasks: the list, one task, its log, the form that starts one, and the
// question before one is killed.
package tasks

import (
	"embed"
	"net/url"

	"github.com/det-deploy/det-deploy/master/pages/logview"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

//go:embed *.html
var files embed.FS

var (
	listPage  = ui.MustParse(files, "list.html")
	taskPage  = ui.MustParse(files, "task.html")
	startPage = ui.MustParse(files, "start.html")
)

const (
	listPath  = ui.Root + "tasks"
	startPath = ui.Root + "tasks/new"
)

// Pages returns the pages of tasks.
func Pages() []ui.Page {
	list := []ui.Page{
		{Pattern: "GET " + listPath, Nav: "Tasks", Serve: showList},
		{Pattern: "GET " + startPath, Serve: showStart},
		{Pattern: "POST " + startPath, Serve: startTask},
		{Pattern: "GET " + listPath + "/{id}", Serve: showTask},
		{Pattern: "GET " + listPath + "/{id}/kill", Serve: askKill},
		{Pattern: "POST " + listPath + "/{id}/kill", Serve: killTask},
		{Pattern: "POST " + listPath + "/{id}/pause", Serve: pauseTask},
		{Pattern: "POST " + listPath + "/{id}/resume", Serve: resumeTask},
		{Pattern: "GET " + waitPath + "{id}", Serve: showWait},
		{Pattern: "GET " + waitPath + "{id}/{rest...}", Serve: showWait},
	}
	return append(list, logview.Pages(listPath+"/{id}/logs", openLog)...)
}

// Path returns the path of the page of a task.
func Path(id string) string { return listPath + "/" + url.PathEscape(id) }

// openLog returns the log of the task of a visit.
func openLog(v *ui.Visit) (logview.Source, error) {
	id := v.PathValue("id")
	t, err := v.API.Task(v.Context(), id)
	if err != nil {
		return logview.Source{}, err
	}
	return logview.Source{
		Title: "Log of task " + id, Path: Path(id) + "/logs", Back: ui.Link{Text: "Task " + id, Href: Path(id)}, File: "task-" + id + ".log",
		Ranks: len(t.GetResources()), Ended: t.GetTask().GetEndTime() != nil, Read: logview.OfTask(v.API, id),
	}, nil
}
