// Package queue is the page of the queue: the jobs that run and wait, and the forms that change their order.
package queue

import (
	"embed"
	"net/http"
	"net/url"
	"strconv"

	"google.golang.org/protobuf/proto"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

//go:embed queue.html
var files embed.FS

var queuePage = ui.MustParse(files, "queue.html")

const path = ui.Root + "queue"

// Pages returns the page and its forms.
func Pages() []ui.Page {
	return []ui.Page{
		{Pattern: "GET " + path, Nav: "Queue", Serve: showQueue},
		{Pattern: "POST " + path + "/{job}/move", Serve: moveJob},
		{Pattern: "POST " + path + "/{job}/priority", Serve: setPriority},
	}
}

// pageRows is the number of jobs of a page.
const pageRows = 100

func showQueue(v *ui.Visit) error {
	pool := v.URL.Query().Get("pool")
	pools, err := v.API.Pools(v.Context())
	if err != nil {
		return err
	}
	offset := ui.Offset(v.URL.Query())
	jobs, total, err := v.API.JobsPage(v.Context(), pool, offset, pageRows)
	if err != nil {
		return err
	}
	q := newQueue(jobs, pools, v.User, pool)
	q.Paging = ui.Paging{Offset: offset, Limit: pageRows, Total: total}
	return v.Show(queuePage, "Queue", q)
}

// back returns the address of the page that a form was on.
func back(v *ui.Visit) string {
	if pool := v.PostForm.Get("pool"); pool != "" {
		return path + "?" + url.Values{"pool": {pool}}.Encode()
	}
	return path
}

func moveJob(v *ui.Visit) error {
	change := &apiv1.QueueControl{JobId: v.PathValue("job")}
	message := "The job was moved back."
	if other := v.PostForm.Get("ahead_of"); other != "" {
		change.AheadOf, message = proto.String(other), "The job was moved forward."
	} else {
		change.BehindOf = proto.String(v.PostForm.Get("behind_of"))
	}
	if err := v.API.UpdateJob(v.Context(), change); err != nil {
		return err
	}
	return v.Done(back(v), message)
}

func setPriority(v *ui.Visit) error {
	n, err := strconv.ParseInt(v.PostForm.Get("priority"), 10, 32)
	if err != nil {
		return &ui.Refusal{Status: http.StatusBadRequest, Message: "The priority must be a number from 1 to 99."}
	}
	change := &apiv1.QueueControl{JobId: v.PathValue("job"), Priority: proto.Int32(int32(n))}
	if err := v.API.UpdateJob(v.Context(), change); err != nil {
		return err
	}
	return v.Done(back(v), "The priority was changed.")
}
