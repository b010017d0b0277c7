package workspace

import (
	"cmp"
	"context"
	"errors"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/store"
)

// projectEdits creates and changes projects.
type projectEdits struct {
	*shared

	views *views
}

// CreateProject creates a project of a user in a workspace. It returns NotFound, InvalidArgument,
// AlreadyExists, FailedPrecondition or ResourceExhausted.
func (e *projectEdits) CreateProject(ctx context.Context, by *apiv1.User, in *apiv1.PostProjectRequest) (*apiv1.Project, error) {
	e.change.Lock()
	defer e.change.Unlock()
	now := e.cfg.Now().UTC()
	p := projectRecord{WorkspaceID: in.GetWorkspaceId(), UserID: by.GetId(), Created: now}
	if err := e.checkDestination(p.WorkspaceID); err != nil {
		return nil, err
	}
	_, have := e.table.countOf(by.GetId())
	if err := CheckCount(by, have, "projects"); err != nil {
		return nil, err
	}
	patch := &apiv1.PatchProject{Name: &in.Name, Description: &in.Description}
	if in.GetKey() != "" {
		patch.Key = &in.Key
	}
	if err := e.applyProject(&p, patch); err != nil {
		return nil, err
	}
	if p.Key == "" {
		p.Key = e.makeKey(p.Name)
	}
	p.ID = e.table.nextID(projectCounter)
	return e.writeProject(ctx, p, func(tx *store.Tx) error {
		return counters.Put(tx, projectCounter, "", now, counter{Last: p.ID})
	})
}

// PatchProject changes the fields that are set in in. It returns the errors of CreateProject, or
// PermissionDenied.
func (e *projectEdits) PatchProject(ctx context.Context, by *apiv1.User, id int32, in *apiv1.PatchProject) (*apiv1.Project, error) {
	e.change.Lock()
	defer e.change.Unlock()
	p, err := e.findEditable(by, id)
	if err != nil {
		return nil, err
	}
	if err := e.applyProject(&p, in); err != nil {
		return nil, err
	}
	return e.writeProject(ctx, p, nil)
}

// SetProjectArchived archives or unarchives a project with its experiments. It returns the errors of
// PatchProject.
func (e *projectEdits) SetProjectArchived(ctx context.Context, by *apiv1.User, id int32, archived bool) error {
	e.change.Lock()
	defer e.change.Unlock()
	p, w, err := e.findMutableProject(by, id)
	if err == nil {
		err = w.checkAround()
	}
	if err != nil {
		return err
	}
	if p.Deletion == deleting {
		return p.checkOpen()
	}
	p.Archived = archived
	_, err = e.writeProject(ctx, p, nil)
	return err
}

// MoveProject moves a project to another workspace. It returns the errors of PatchProject.
func (e *projectEdits) MoveProject(ctx context.Context, by *apiv1.User, id, to int32) error {
	e.change.Lock()
	defer e.change.Unlock()
	p, err := e.findEditable(by, id)
	if err != nil {
		return err
	}
	if err := e.checkDestination(to); err != nil {
		return err
	}
	if err := e.checkProjectName(p.Name, to, p.ID); err != nil {
		return err
	}
	p.WorkspaceID = to
	_, err = e.writeProject(ctx, p, nil)
	return err
}

// SetNotes replaces the notes of a project with the result of change. Archived projects are
// permitted. It returns the errors of PatchProject.
func (e *projectEdits) SetNotes(ctx context.Context, by *apiv1.User, id int32, change func([]*apiv1.Note) []*apiv1.Note) ([]*apiv1.Note, error) {
	e.change.Lock()
	defer e.change.Unlock()
	p, _, err := e.findOwnProject(by, id)
	if err != nil {
		return nil, err
	}
	if p.Notes, err = readNotes(change(showNotes(p.Notes))); err != nil {
		return nil, err
	}
	out, err := e.writeProject(ctx, p, nil)
	return out.GetNotes(), err
}

const (
	// mostNotes and noteLimit, in bytes, limit the size of lists of projects.
	mostNotes = 100
	noteLimit = 64 << 10
)

func readNotes(in []*apiv1.Note) ([]note, error) {
	if len(in) > mostNotes {
		return nil, status.New(status.InvalidArgument, "notes: a project has at most %d (has %d)", mostNotes, len(in))
	}
	var out []note
	for i, n := range in {
		if len(n.GetName())+len(n.GetContents()) > noteLimit {
			return nil, status.New(status.InvalidArgument, "notes[%d]: must have at most %d bytes", i, noteLimit)
		}
		out = append(out, note{Name: n.GetName(), Contents: n.GetContents()})
	}
	return out, nil
}

// findEditable returns a project that the user may change. It returns an error if the project is
// archived or being deleted.
func (e *projectEdits) findEditable(by *apiv1.User, id int32) (projectRecord, error) {
	p, w, err := e.findMutableProject(by, id)
	if err == nil {
		err = cmp.Or(w.checkAround(), p.checkOpen())
	}
	return p, err
}

// checkAround returns FailedPrecondition if the workspace of a project is archived or being deleted.
func (w workspaceRecord) checkAround() error {
	if w.checkOpen() == nil {
		return nil
	}
	return status.New(status.FailedPrecondition, "it is in workspace '%s', which is archived or being deleted; unarchive the workspace first", w.Name)
}

// checkDestination returns an error if a workspace accepts no projects.
func (e *projectEdits) checkDestination(id int32) error {
	w, found := e.table.findWorkspace(id)
	switch {
	case !found:
		return missingWorkspace(id)
	case id == First:
		return status.New(status.FailedPrecondition, "workspace '%s' is built in and accepts no further projects; choose another", w.Name)
	}
	return w.checkEditable()
}

// applyProject applies a patch to p.
func (e *projectEdits) applyProject(p *projectRecord, in *apiv1.PatchProject) (err error) {
	if in.Name != nil && (p.ID == 0 || in.GetName() != p.Name) {
		if err := e.checkProjectName(in.GetName(), p.WorkspaceID, p.ID); err != nil {
			return err
		}
		p.Name = in.GetName()
	}
	if in.Description != nil {
		if err := checkDescription(in.GetDescription()); err != nil {
			return err
		}
		p.Description = in.GetDescription()
	}
	if in.Key != nil {
		p.Key, err = e.checkKey(in.GetKey(), p.ID)
	}
	return err
}

// writeProject stores a project, and other changes of the same transaction if also is not nil. The
// caller holds e.change.
func (e *projectEdits) writeProject(ctx context.Context, p projectRecord, also func(*store.Tx) error) (*apiv1.Project, error) {
	err := e.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		var err error
		if also != nil {
			err = also(tx)
		}
		return errors.Join(err, putProject(tx, p))
	})
	if err != nil {
		return nil, err
	}
	e.table.keepProject(p)
	return e.views.ShowProject(p.ID)
}
