package master

import (
	"time"

	"github.com/det-deploy/det-deploy/master/accounting"
)

// accountBook is what was used when, by whom, with the names that experiments and
// workspaces have now.
func (m *Master) accountBook() *accounting.Book {
	return &accounting.Book{
		Store: m.store, Placed: m.tasks.Placed, Now: time.Now,
		Experiment: m.experiments.OfJob, Workspace: m.workspaces.WorkspaceName,
	}
}
