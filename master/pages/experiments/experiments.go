// Package experiments is the page with the list of experiments.
package experiments

import (
	"embed"

	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

//go:embed list.html
var files embed.FS

var listPage = ui.MustParse(files, "list.html")

// Pages returns the pages of this package.
func Pages() []ui.Page {
	return []ui.Page{{Pattern: "GET /det/experiments", Nav: "Experiments", Serve: serveList}}
}

// limit is the number of rows of a page.
const limit = 50

func serveList(v *ui.Visit) error {
	q := readQuery(v.URL.Query())
	list, err := v.API.ExperimentPage(v.Context(), q.filter(), q.page())
	if err != nil {
		return err
	}
	if v.IsLive() {
		return v.Show(listPage, "Experiments", newView(q, list, choices{}))
	}
	c, err := readChoices(v, q)
	if err != nil {
		return err
	}
	return v.Show(listPage, "Experiments", newView(q, list, c))
}

// choices are the values that the filters offer.
type choices struct {
	labels     []string
	workspaces []*apiv1.Workspace
	projects   []*apiv1.Project
}

func readChoices(v *ui.Visit, q query) (c choices, err error) {
	if c.labels, err = v.API.ExperimentLabels(v.Context(), q.Project); err != nil {
		return c, err
	}
	if c.workspaces, err = v.API.Workspaces(v.Context(), q.Archived); err != nil {
		return c, err
	}
	if q.Workspace != 0 {
		c.projects, err = v.API.Projects(v.Context(), q.Workspace, q.Archived)
	}
	if isMissing(err) {
		err = nil
	}
	return c, err
}

func isMissing(err error) bool { return client.KindOf(err) == client.NotFound }
