package workspace

import (
	"context"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// Experiments is what projects contain.
type Experiments interface {
	// Count numbers the experiments of each project that has some.
	Count() map[int32]Counts
	// DeleteAll asks for the deletion of all experiments of a project on behalf of a user,
	// ends those that have not ended, and says how many are left. It is repeated until
	// there are none. An error is why one of them cannot be deleted; again tries those
	// once more that could not be deleted before.
	DeleteAll(ctx context.Context, by *apiv1.User, project int32, again bool) (left int, err error)
}

// Counts are the experiments of a project.
type Counts struct {
	// Active ones have not ended; Runs are the trials of all.
	Experiments, Active, Runs int32
	LastStarted               time.Time
}

// Content is what belongs to workspaces besides projects: tasks, templates, models.
type Content interface {
	// CheckDelete refuses the deletion of a workspace whose content people must decide on.
	CheckDelete(workspace int32) error
	// DeleteAll deletes or ends what belongs to a workspace, on behalf of a user who may do
	// that. It may be repeated.
	DeleteAll(ctx context.Context, by *apiv1.User, workspace int32) error
}

// deletions deletes workspaces and projects, level-triggered: what is marked in the store is
// deleted step by step, also by the next master.
//
//	Delete ──▶ DELETING ──▶ experiments and content gone ──▶ gone
//	               ▲   └──▶ DELETE_FAILED ──┐
//	               └──────── Delete ────────┘
type deletions struct {
	*shared

	// stepping is held by each step; wake begins the next.
	stepping chan struct{}
	wake     chan struct{}
	// asked is the projects whose deletion was asked for since the last step; guarded by change.
	asked map[int32]bool
}

func newDeletions(s *shared) *deletions {
	return &deletions{shared: s, stepping: make(chan struct{}, 1), wake: make(chan struct{}, 1), asked: map[int32]bool{}}
}

// Delete begins the deletion of a workspace with all that is in it, and reports whether it is
// done already. The errors have the codes NotFound, PermissionDenied and FailedPrecondition.
func (d *deletions) Delete(ctx context.Context, by *apiv1.User, id int32) (done bool, err error) {
	if err := d.markWorkspace(ctx, by, id); err != nil {
		return false, err
	}
	d.tryStep(ctx)
	d.wakeRun()
	_, found := d.table.findWorkspace(id)
	return !found, nil
}

// DeleteProject is Delete for a project.
func (d *deletions) DeleteProject(ctx context.Context, by *apiv1.User, id int32) (done bool, err error) {
	if err := d.markProject(ctx, by, id); err != nil {
		return false, err
	}
	d.tryStep(ctx)
	d.wakeRun()
	_, found := d.table.findProject(id)
	return !found, nil
}

func (d *deletions) markWorkspace(ctx context.Context, by *apiv1.User, id int32) error {
	d.change.Lock()
	defer d.change.Unlock()
	w, err := d.findOwn(by, id)
	if err != nil {
		return err
	}
	for _, c := range d.contents {
		if err := c.CheckDelete(id); err != nil {
			return err
		}
	}
	w.Deletion, w.Error, w.Deleter = deleting, "", by.GetId()
	for _, p := range d.table.listProjects(id) {
		d.asked[p.ID] = true
	}
	return d.storeWorkspace(ctx, w)
}

func (d *deletions) markProject(ctx context.Context, by *apiv1.User, id int32) error {
	d.change.Lock()
	defer d.change.Unlock()
	p, _, err := d.findOwnProject(by, id)
	if err == nil {
		err = p.checkMutable()
	}
	if err != nil {
		return err
	}
	p.Deletion, p.Error, p.Deleter = deleting, "", by.GetId()
	d.asked[id] = true
	return d.storeProject(ctx, p)
}

// pollEvery is how often the rest of a deletion is looked at.
const pollEvery = time.Second

// Run continues deletions until ctx ends.
func (d *deletions) Run(ctx context.Context) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		d.tryStep(ctx)
		again := tick.C
		if !d.isDeleting() {
			again = nil
		}
		select {
		case <-ctx.Done():
			return
		case <-again:
		case <-d.wake:
		}
	}
}

func (d *deletions) wakeRun() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// tryStep continues all deletions, unless another caller does.
func (d *deletions) tryStep(ctx context.Context) {
	select {
	case d.stepping <- struct{}{}:
	default:
		return
	}
	defer func() { <-d.stepping }()
	for _, p := range d.table.listProjects(0) {
		if p.Deletion == deleting {
			d.finishProject(ctx, p.ID, p.Deleter)
		}
	}
	for _, w := range d.table.listWorkspaces() {
		if w.Deletion == deleting {
			d.finishWorkspace(ctx, w.ID, w.Deleter)
		}
	}
}

func (d *deletions) isDeleting() bool {
	for _, w := range d.table.listWorkspaces() {
		if w.Deletion == deleting {
			return true
		}
	}
	for _, p := range d.table.listProjects(0) {
		if p.Deletion == deleting {
			return true
		}
	}
	return false
}
