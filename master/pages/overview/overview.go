// Package overview is the page of the whole cluster: its problems, pools, queue and running
// experiments.
package overview

import (
	"embed"

	"github.com/det-deploy/det-deploy/master/api/client"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

//go:embed overview.html
var files embed.FS

var overviewPage = ui.MustParse(files, "overview.html")

// Pages returns the page.
func Pages() []ui.Page {
	return []ui.Page{{Pattern: "GET " + ui.Root + "{$}", Nav: "Overview", Serve: show}}
}

// mostShown is the number of rows of a table of this page.
const mostShown = 20

func show(v *ui.Visit) error {
	ctx, in := v.Context(), facts{}
	var err error
	if in.pools, err = v.API.Pools(ctx); err != nil {
		return err
	}
	if in.agents, err = v.API.Agents(ctx); err != nil {
		return err
	}
	if in.jobs, err = v.API.Jobs(ctx, ""); err != nil {
		return err
	}
	if in.running, err = v.API.Experiments(ctx, client.ExperimentQuery{States: []string{"ACTIVE"}, Limit: mostShown}); err != nil {
		return err
	}
	return v.Show(overviewPage, "Overview", newView(in))
}
