// Package trial has the pages of one trial: its curves and checkpoints, its log, and what its machines did.
package trial

import (
	"embed"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/curve"
	"github.com/det-deploy/det-deploy/master/pages/logview"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

//go:embed *.html
var files embed.FS

var (
	trialPage  = ui.MustParse(files, "head.html", "trial.html")
	systemPage = ui.MustParse(files, "head.html", "system.html")
)

// pattern is the path of a trial's page.
const pattern = "/det/experiments/{experiment}/trials/{trial}"

// Pages returns the pages of this package.
func Pages() []ui.Page {
	all := []ui.Page{
		{Pattern: "GET /det/trials/{trial}", Serve: toTrial},
		{Pattern: "GET /det/trials/{trial}/{tail...}", Serve: toTrial},
		{Pattern: "GET " + pattern, Serve: serveTrial},
		{Pattern: "GET " + pattern + "/{tail...}", Serve: toTrial},
		{Pattern: "GET " + pattern + "/system", Serve: serveSystem},
		{Pattern: "GET " + pattern + "/checkpoints/{checkpoint}", Serve: serveCheckpoint},
		{Pattern: "GET " + pattern + "/kill", Serve: askKill},
		{Pattern: "POST " + pattern + "/kill", Serve: kill},
	}
	all = append(all, curve.Pages(pattern+"/curves", readCurves)...)
	all = append(all, curve.Pages(pattern+"/system/data", readSystem)...)
	return append(all, logview.Pages(pattern+"/logs", openLog)...)
}

// idOf returns the trial in the address of a page.
func idOf(v *ui.Visit) (int32, error) {
	text := v.PathValue("trial")
	id, err := strconv.ParseInt(text, 10, 32)
	if err != nil || id <= 0 {
		return 0, &ui.Refusal{Status: http.StatusNotFound, Message: fmt.Sprintf("There is no trial %s.", ui.Plain(text))}
	}
	return int32(id), nil
}

// read returns the trial in the address of a page. It is of the experiment in the address.
func read(v *ui.Visit) (*apiv1.GetTrialResponse, error) {
	id, err := idOf(v)
	if err != nil {
		return nil, err
	}
	reply, err := v.API.TrialDetail(v.Context(), id)
	if err != nil {
		return nil, err
	}
	if in := v.PathValue("experiment"); in != "" && in != fmt.Sprint(reply.GetTrial().GetExperimentId()) {
		return nil, &ui.Refusal{Status: http.StatusNotFound, Message: fmt.Sprintf("Trial %d is not of experiment %s.", id, ui.Plain(in))}
	}
	return reply, nil
}

// address returns the address of a trial's page.
func address(t *apiv1.Trial) string {
	return fmt.Sprintf("/det/experiments/%d/trials/%d", t.GetExperimentId(), t.GetId())
}

// toTrial redirects other addresses of a trial to its page.
func toTrial(v *ui.Visit) error {
	id, err := idOf(v)
	if err != nil {
		return err
	}
	t, err := v.API.Trial(v.Context(), id)
	if err != nil {
		return err
	}
	if v.PathValue("tail") == "logs" {
		return v.Redirect(address(t) + "/logs")
	}
	return v.Redirect(address(t))
}

func openLog(v *ui.Visit) (logview.Source, error) {
	reply, err := read(v)
	if err != nil {
		return logview.Source{}, err
	}
	t := reply.GetTrial()
	return logview.Source{
		Title: fmt.Sprintf("Log of trial %d", t.GetId()), Path: address(t) + "/logs", File: fmt.Sprintf("trial-%d.log", t.GetId()),
		Back:  ui.Link{Text: fmt.Sprintf("Trial %d of experiment %d", t.GetId(), t.GetExperimentId()), Href: address(t)},
		Tabs:  newHead(t, "/logs").Tabs,
		Ended: t.GetEndTime() != nil, Read: logview.OfTrial(v.API, t.GetId()),
	}, nil
}

// checkpointsOfPage is the number of checkpoints in the table.
const checkpointsOfPage = 25

func serveTrial(v *ui.Visit) error {
	reply, err := read(v)
	if err != nil {
		return err
	}
	x, err := v.API.Experiment(v.Context(), reply.GetTrial().GetExperimentId())
	if err != nil {
		return err
	}
	checkpoints, err := v.API.TrialCheckpoints(v.Context(), reply.GetTrial().GetId(), ui.Offset(v.URL.Query()), checkpointsOfPage)
	if err != nil {
		return err
	}
	return v.Show(trialPage, fmt.Sprintf("Trial %d of experiment %d", reply.GetTrial().GetId(), x.GetExperiment().GetId()), newView(v.User, v.URL.Query(), reply, x, checkpoints))
}

func askKill(v *ui.Visit) error {
	reply, err := read(v)
	if err != nil {
		return err
	}
	return v.Confirm(ui.Confirmation{
		Question: fmt.Sprintf("Kill trial %d?", reply.GetTrial().GetId()), Effects: []string{"Steps since the latest checkpoint are lost."},
		Button: "Kill the trial", Back: address(reply.GetTrial()),
	})
}

func kill(v *ui.Visit) error {
	reply, err := read(v)
	if err != nil {
		return err
	}
	if err := v.API.KillTrial(v.Context(), reply.GetTrial().GetId()); err != nil {
		return err
	}
	return v.Done(address(reply.GetTrial()), "The trial was killed.")
}

// serveCheckpoint sends the files of a checkpoint.
func serveCheckpoint(v *ui.Visit) error {
	id := v.PathValue("checkpoint")
	from, err := v.API.DownloadCheckpoint(v.Context(), id)
	if err != nil {
		return err
	}
	defer from.Close() //nolint:errcheck // it was only read
	if _, err := io.Copy(v.Attach(id+".tar.gz", "application/gzip"), from); err != nil && v.Context().Err() == nil {
		panic(http.ErrAbortHandler) // the browser detects that the file is not whole
	}
	return nil
}

// isGone reports whether an error is about something that was deleted meanwhile.
func isGone(err error) bool { return client.KindOf(err) == client.NotFound }
