package workspace

import (
	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// Permissions: every user may create workspaces and projects and see all of them. The owner of a
// workspace may change it and everything in it, the owner of a project may change the project, and
// administrators may change everything. Only administrators may set the Unix account that tasks run
// as. Workspace.CheckUser decides who may run tasks in a workspace.

// findOwn returns a workspace in any state, or an error if the user may not change it. Like Determined
// 0.38.1, it says that the first workspace cannot be changed before it looks at the user.
func (s *shared) findOwn(by *apiv1.User, id int32) (workspaceRecord, error) {
	w, found := s.table.findWorkspace(id)
	switch {
	case !found:
		return workspaceRecord{}, missingWorkspace(id)
	case w.ID == First:
		return workspaceRecord{}, status.New(status.FailedPrecondition, "workspace '%s' is built in and cannot be changed", w.Name)
	case !by.GetAdmin() && by.GetId() != w.UserID:
		return workspaceRecord{}, status.New(status.PermissionDenied,
			"workspace '%s' belongs to another user; only its owner and administrators may change it", w.Name)
	}
	return w.workspaceRecord, nil
}

// findOwnProject returns a project in any state and its workspace, or an error if the user may not
// change the project.
func (s *shared) findOwnProject(by *apiv1.User, id int32) (projectRecord, workspaceRecord, error) {
	p, w, err := s.lookUpProject(id)
	switch {
	case err != nil:
		return projectRecord{}, workspaceRecord{}, err
	case !by.GetAdmin() && by.GetId() != p.UserID && by.GetId() != w.UserID:
		return projectRecord{}, workspaceRecord{}, status.New(status.PermissionDenied,
			"project '%s' belongs to another user; only its owner, the owner of its workspace and administrators may change it", p.Name)
	}
	return p, w, nil
}

// findMutableProject is like findOwnProject, and returns FailedPrecondition for the first project.
func (s *shared) findMutableProject(by *apiv1.User, id int32) (projectRecord, workspaceRecord, error) {
	if p, found := s.table.findProject(id); found {
		if err := p.checkMutable(); err != nil {
			return projectRecord{}, workspaceRecord{}, err
		}
	}
	return s.findOwnProject(by, id)
}

// checkMutable returns FailedPrecondition for the first project.
func (p projectRecord) checkMutable() error {
	if p.ID == First {
		return status.New(status.FailedPrecondition, "project '%s' is built in and cannot be changed", p.Name)
	}
	return nil
}

func (s *shared) lookUpProject(id int32) (projectRecord, workspaceRecord, error) {
	p, found := s.table.findProject(id)
	if !found {
		return projectRecord{}, workspaceRecord{}, missingProject(id)
	}
	w, found := s.table.findWorkspace(p.WorkspaceID)
	if !found {
		return projectRecord{}, workspaceRecord{}, missingWorkspace(p.WorkspaceID)
	}
	return *p, w.workspaceRecord, nil
}
