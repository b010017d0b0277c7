package master

import (
	"time"

	"github.com/det-deploy/det-deploy/master/accounting"
	"github.com/det-deploy/det-deploy/master/rm"
)

// accountBook is what was used when, by whom, with the names that experiments, projects and
// workspaces have now.
func (m *Master) accountBook() *accounting.Book {
	return &accounting.Book{
		Store: m.store, Placed: m.tasks.Placed, Now: time.Now,
		Experiment: m.subjectOf, Workspace: m.workspaces.WorkspaceName, Project: m.projectName,
	}
}

// subjectOf is the experiment that a job is.
func (m *Master) subjectOf(job rm.JobID) accounting.Subject {
	x, found := m.experiments.OfJob(job)
	if !found {
		return accounting.Subject{}
	}
	return accounting.Subject{ID: x.ID, Name: x.Name, Labels: x.Labels, Project: x.ProjectID}
}

// projectName is the name of a project behind that of its workspace, empty for one that is
// gone.
func (m *Master) projectName(id int32) string {
	p, err := m.workspaces.Project(id)
	if err != nil {
		return ""
	}
	return m.workspaces.WorkspaceName(p.WorkspaceID) + " / " + p.Name
}
