package workspace

import (
	"context"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// Experiments provides the experiments in projects.
type Experiments interface {
	// Count returns the number of experiments of each project that has any.
	Count() map[int32]Counts
	// DeleteAll requests the deletion of all experiments of a project as a user, kills those that
	// have not ended, and returns the number of remaining ones. The caller repeats it until that is
	// 0. It returns an error if an experiment cannot be deleted. If again is true, it retries
	// experiments whose deletion has failed before.
	DeleteAll(ctx context.Context, by *apiv1.User, project int32, again bool) (left int, err error)
}

// Counts holds the numbers of experiments of a project.
type Counts struct {
	// Active is the number of experiments that have not ended, Runs the number of trials of all
	// experiments.
	Experiments, Active, Runs int32
	LastStarted               time.Time
}

// Content is content of workspaces other than projects: tasks, templates, models.
type Content interface {
	// CheckDelete returns an error if the workspace has content that must not be deleted
	// automatically.
	CheckDelete(workspace int32) error
	// DeleteAll deletes or ends the content of a workspace as a user. It is idempotent.
	DeleteAll(ctx context.Context, by *apiv1.User, workspace int32) error
}

// deletions deletes workspaces and projects. It is level-triggered: objects that are marked in the store
// are deleted step by step, also after a restart of the master.
//
//	Delete ──▶ DELETING ──▶ experiments and content gone ──▶ gone
//	               ▲   └──▶ DELETE_FAILED ──┐
//	               └──────── Delete ────────┘
type deletions struct {
	*shared

	// stepping is held during a step; wake starts the next.
	stepping chan struct{}
	wake     chan struct{}
	// asked are the projects whose deletion was requested since the last step; guarded by change.
	asked map[int32]bool
}

func newDeletions(s *shared) *deletions {
	return &deletions{shared: s, stepping: make(chan struct{}, 1), wake: make(chan struct{}, 1), asked: map[int32]bool{}}
}

// Delete starts the deletion of a workspace with its content, and reports whether it is already
// complete. It returns NotFound, PermissionDenied or FailedPrecondition.
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
	p, _, err := d.findMutableProject(by, id)
	if err != nil {
		return err
	}
	p.Deletion, p.Error, p.Deleter = deleting, "", by.GetId()
	d.asked[id] = true
	return d.storeProject(ctx, p)
}

// pollEvery is the interval at which pending deletions are continued.
const pollEvery = time.Second

// Run continues deletions until ctx is done.
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

// tryStep continues all deletions, unless another caller is doing so.
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
