package workspace

import (
	"context"
	"errors"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/store"
)

// finishProject performs a step of the deletion of a project. If the step fails, it stores the error
// in the project.
func (d *deletions) finishProject(ctx context.Context, id, deleter int32) {
	err := d.deleteProjectNow(ctx, id, deleter)
	if err == nil || ctx.Err() != nil {
		return
	}
	d.cfg.Log.Warn("cannot delete a project", "project", id, "err", err)
	d.change.Lock()
	defer d.change.Unlock()
	p, found := d.table.findProject(id)
	if !found {
		return
	}
	failed := *p
	failed.Deletion, failed.Error = deleteFailed, err.Error()
	if err := d.storeProject(ctx, failed); err != nil {
		d.cfg.Log.Warn("cannot store the error of the deletion of a project; retrying", "project", id, "err", err)
	}
}

// finishWorkspace performs a step of the deletion of a workspace with its content. If the step
// fails, it stores the error in the workspace.
func (d *deletions) finishWorkspace(ctx context.Context, id, deleter int32) {
	err := d.emptyWorkspace(ctx, id, deleter)
	if err == nil && len(d.table.listProjects(id)) == 0 {
		err = d.removeWorkspace(ctx, id)
	}
	if err == nil || ctx.Err() != nil {
		return
	}
	d.cfg.Log.Warn("cannot delete a workspace", "workspace", id, "err", err)
	d.change.Lock()
	defer d.change.Unlock()
	w, found := d.table.findWorkspace(id)
	if !found {
		return
	}
	failed := w.workspaceRecord
	failed.Deletion, failed.Error = deleteFailed, err.Error()
	if err := d.storeWorkspace(ctx, failed); err != nil {
		d.cfg.Log.Warn("cannot store the error of the deletion of a workspace; retrying", "workspace", id, "err", err)
	}
}

func (d *deletions) emptyWorkspace(ctx context.Context, id, deleter int32) error {
	var failed []error
	for _, p := range d.table.listProjects(id) {
		failed = append(failed, d.deleteProjectNow(ctx, p.ID, deleter))
	}
	for _, c := range d.contents {
		failed = append(failed, c.DeleteAll(ctx, d.actAs(deleter), id))
	}
	return errors.Join(failed...)
}

// deleteProjectNow requests the deletion of a project's experiments as the user who deletes the
// project, and deletes the project when no experiments remain.
func (d *deletions) deleteProjectNow(ctx context.Context, id, deleter int32) error {
	if e := d.experiments.Load(); e != nil {
		if left, err := (*e).DeleteAll(ctx, d.actAs(deleter), id, d.takeAsked(id)); err != nil || left > 0 {
			return err
		}
	}
	d.change.Lock()
	defer d.change.Unlock()
	err := d.cfg.Store.Write(ctx, func(tx *store.Tx) error { return projects.Delete(tx, recordID(id)) })
	if err == nil {
		d.table.dropProject(id)
	}
	return err
}

// takeAsked reports whether this is the first step since the deletion of a project was requested.
func (d *deletions) takeAsked(project int32) bool {
	d.change.Lock()
	defer d.change.Unlock()
	asked := d.asked[project]
	delete(d.asked, project)
	return asked
}

// actAs returns the user for deleting the content of a workspace or a project. The user has
// administrator rights, because users who may delete a workspace may delete everything in it.
func (d *deletions) actAs(deleter int32) *apiv1.User {
	by := &apiv1.User{Id: deleter, Admin: true}
	if u, err := d.cfg.Users.User(deleter); err == nil {
		by.Username = u.GetUsername()
	}
	return by
}

func (d *deletions) removeWorkspace(ctx context.Context, id int32) error {
	d.change.Lock()
	defer d.change.Unlock()
	err := d.cfg.Store.Write(ctx, func(tx *store.Tx) error { return workspaces.Delete(tx, recordID(id)) })
	if err == nil {
		d.table.dropWorkspace(id)
	}
	return err
}

// storeWorkspace stores a workspace. The caller holds d.change.
func (d *deletions) storeWorkspace(ctx context.Context, w workspaceRecord) error {
	if err := d.cfg.Store.Write(ctx, func(tx *store.Tx) error { return putWorkspace(tx, w) }); err != nil {
		return err
	}
	return d.table.keepWorkspace(w)
}

// storeProject stores a project. The caller holds d.change.
func (d *deletions) storeProject(ctx context.Context, p projectRecord) error {
	err := d.cfg.Store.Write(ctx, func(tx *store.Tx) error { return putProject(tx, p) })
	if err == nil {
		d.table.keepProject(p)
	}
	return err
}
