// Package experiment has the pages of one experiment, with the actions on it.
package experiment

import (
	"embed"
	"fmt"
	"net/http"
	"strconv"

	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/curve"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

//go:embed *.html
var files embed.FS

var (
	overviewPage = ui.MustParse(files, "head.html", "overview.html")
	deletePage   = ui.MustParse(files, "head.html", "delete.html")
	movePage     = ui.MustParse(files, "head.html", "move.html")
	configPage   = ui.MustParse(files, "head.html", "configuration.html")
	filesPage    = ui.MustParse(files, "head.html", "files.html")
	editPage     = ui.MustParse(files, "head.html", "edit.html")
	forkPage     = ui.MustParse(files, "head.html", "fork.html")
	searchPage   = ui.MustParse(files, "head.html", "search.html")

	hyperparametersPage = ui.MustParse(files, "head.html", "hyperparameters.html")
)

// pattern is the path of an experiment's page.
const pattern = "/det/experiments/{experiment}"

// Pages returns the pages of this package.
func Pages() []ui.Page {
	all := []ui.Page{
		{Pattern: "GET " + pattern, Serve: serveOverview},
		{Pattern: "GET " + pattern + "/{tail...}", Serve: serveTail},
		{Pattern: "GET " + pattern + "/hyperparameters", Serve: serveHyperparameters},
		{Pattern: "GET " + pattern + "/hyperparameters.csv", Serve: serveHyperparametersCSV},
		{Pattern: "GET " + pattern + "/search", Serve: serveSearch},
		{Pattern: "GET " + pattern + "/configuration", Serve: serveConfiguration},
		{Pattern: "GET " + pattern + "/files", Serve: serveFiles},
		{Pattern: "GET " + pattern + "/file", Serve: serveFile},
		{Pattern: "GET " + pattern + "/delete", Serve: serveDelete},
		{Pattern: "POST " + pattern + "/delete", Serve: doDelete},
		{Pattern: "GET " + pattern + "/edit", Serve: serveEdit},
		{Pattern: "POST " + pattern + "/edit", Serve: doEdit},
		{Pattern: "GET " + pattern + "/move", Serve: serveMove},
		{Pattern: "POST " + pattern + "/move", Serve: doMove},
		{Pattern: "GET " + pattern + "/fork", Serve: serveFork},
		{Pattern: "POST " + pattern + "/fork", Serve: doFork},
		{Pattern: "GET " + pattern + "/continue", Serve: serveContinue},
		{Pattern: "POST " + pattern + "/continue", Serve: doContinue},
	}
	all = append(all, curve.Pages(pattern+"/curves", readPlot)...)
	for _, verb := range verbs {
		all = append(all, ui.Page{Pattern: "POST " + pattern + "/" + verb.Name, Serve: verb.serve})
		if verb.effect != "" {
			all = append(all, ui.Page{Pattern: "GET " + pattern + "/" + verb.Name, Serve: verb.ask})
		}
	}
	return all
}

// idOf returns the experiment in the address of a page.
func idOf(v *ui.Visit) (int32, error) {
	text := v.PathValue("experiment")
	id, err := strconv.ParseInt(text, 10, 32)
	if err != nil || id <= 0 {
		return 0, &ui.Refusal{Status: http.StatusNotFound, Message: fmt.Sprintf("There is no experiment %s.", ui.Plain(text))}
	}
	return int32(id), nil
}

// read returns the experiment in the address of a page with its state and what it has used.
func read(v *ui.Visit) (*apiv1.GetExperimentResponse, error) {
	id, err := idOf(v)
	if err != nil {
		return nil, err
	}
	return v.API.ExperimentDetail(v.Context(), id)
}

// serveTail redirects other addresses below an experiment, which Determined has, to its page.
func serveTail(v *ui.Visit) error {
	id, err := idOf(v)
	if err != nil {
		return err
	}
	return v.Redirect(address(id))
}

// address returns the address of an experiment's page.
func address(id int32) string { return "/det/experiments/" + fmt.Sprint(id) }

// trialsOfPage is the number of trials in the table.
const trialsOfPage = 50

func serveOverview(v *ui.Visit) error {
	reply, err := read(v)
	if err != nil {
		return err
	}
	q := readTrialQuery(v.URL.Query(), smallerIsBetter(reply.GetConfig()))
	trials, err := v.API.TrialPage(v.Context(), reply.GetExperiment().GetId(), q.page())
	if err != nil {
		return err
	}
	best := trials
	if !v.IsLive() && (q.sort != "best" || q.offset > 0) {
		if best, err = bestTrials(v, reply, 1); err != nil {
			return err
		}
	}
	return v.Show(overviewPage, title(reply), newOverview(v.User, v.URL.Query(), reply, trials, best.GetTrials()))
}

// bestTrials returns the best trials of an experiment.
func bestTrials(v *ui.Visit, reply *apiv1.GetExperimentResponse, most int) (*apiv1.GetExperimentTrialsResponse, error) {
	return v.API.TrialPage(v.Context(), reply.GetExperiment().GetId(), client.Page{
		Sort: "BEST_VALIDATION_METRIC", Descending: !smallerIsBetter(reply.GetConfig()), Limit: most,
	})
}

func title(reply *apiv1.GetExperimentResponse) string {
	x := reply.GetExperiment()
	return fmt.Sprintf("Experiment %d: %s", x.GetId(), x.GetName())
}
