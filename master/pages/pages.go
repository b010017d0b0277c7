// Package pages has the master's web pages.
package pages

import (
	"net/http"

	"github.com/det-deploy/det-deploy/master/pages/audit"
	"github.com/det-deploy/det-deploy/master/pages/compare"
	"github.com/det-deploy/det-deploy/master/pages/experiment"
	"github.com/det-deploy/det-deploy/master/pages/experiments"
	"github.com/det-deploy/det-deploy/master/pages/models"
	"github.com/det-deploy/det-deploy/master/pages/overview"
	"github.com/det-deploy/det-deploy/master/pages/pools"
	"github.com/det-deploy/det-deploy/master/pages/queue"
	"github.com/det-deploy/det-deploy/master/pages/tasks"
	"github.com/det-deploy/det-deploy/master/pages/trial"
	"github.com/det-deploy/det-deploy/master/pages/ui"
	"github.com/det-deploy/det-deploy/master/pages/users"
	"github.com/det-deploy/det-deploy/master/pages/workspaces"
)

// Root is the path below which all pages are.
const Root = ui.Root

// New returns the handler of the pages. Their links are in the navigation in this order.
func New(cfg ui.Config) http.Handler {
	return ui.New(cfg, pages())
}

// pages returns all pages.
func pages() []ui.Page {
	var all []ui.Page
	for _, part := range [][]ui.Page{
		overview.Pages(),
		experiments.Pages(),
		experiment.Pages(),
		trial.Pages(),
		compare.Pages(),
		tasks.Pages(),
		queue.Pages(),
		pools.Pages(),
		models.Pages(),
		workspaces.Pages(),
		users.Pages(),
		audit.Pages(),
		formerPages(),
	} {
		all = append(all, part...)
	}
	return all
}
