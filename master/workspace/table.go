package workspace

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	expconf "github.com/det-deploy/det-deploy/master/experiment/config"
	"github.com/det-deploy/det-deploy/master/store"
)

// table holds every workspace and project in memory. Its values are immutable; a change replaces
// them.
type table struct {
	mu         sync.RWMutex
	workspaces map[int32]*known
	projects   map[int32]*projectRecord
	// The last assigned IDs.
	lastWorkspace, lastProject int32
}

// known is a workspace with its decoded storage.
type known struct {
	workspaceRecord
	storage *expconf.Storage
}

func newTable() *table {
	return &table{workspaces: map[int32]*known{}, projects: map[int32]*projectRecord{}}
}

func (t *table) loadAll(ctx context.Context, r store.Reader) error {
	spaces, err := workspaces.All(ctx, r)
	if err != nil {
		return err
	}
	for _, d := range spaces {
		if err := t.keepWorkspace(d.Value); err != nil {
			return err
		}
	}
	all, err := projects.All(ctx, r)
	if err != nil {
		return err
	}
	for _, d := range all {
		t.keepProject(d.Value)
	}
	last, err := counters.All(ctx, r)
	for _, d := range last {
		t.keepCounter(d.ID, d.Value.Last)
	}
	return err
}

func (t *table) keepCounter(name string, last int32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch name {
	case workspaceCounter:
		t.lastWorkspace = max(t.lastWorkspace, last)
	case projectCounter:
		t.lastProject = max(t.lastProject, last)
	}
}

// keepWorkspace updates the table after the workspace was stored.
func (t *table) keepWorkspace(w workspaceRecord) error {
	s, err := w.loadStorage()
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.workspaces[w.ID] = &known{workspaceRecord: w, storage: s}
	t.lastWorkspace = max(t.lastWorkspace, w.ID)
	return nil
}

// keepProject updates the table after the project was stored.
func (t *table) keepProject(p projectRecord) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.projects[p.ID] = &p
	t.lastProject = max(t.lastProject, p.ID)
}

func (t *table) findWorkspace(id int32) (*known, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	w, found := t.workspaces[id]
	return w, found
}

func (t *table) findProject(id int32) (*projectRecord, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	p, found := t.projects[id]
	return p, found
}

// findKey returns the project with a key, ignoring case.
func (t *table) findKey(key string) (*projectRecord, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, p := range t.projects {
		if strings.EqualFold(p.Key, key) {
			return p, true
		}
	}
	return nil, false
}

// countOf returns the numbers of workspaces and projects of a user.
func (t *table) countOf(user int32) (workspaces, projects int) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, w := range t.workspaces {
		if w.UserID == user {
			workspaces++
		}
	}
	for _, p := range t.projects {
		if p.UserID == user {
			projects++
		}
	}
	return workspaces, projects
}

// nextID returns the next ID.
func (t *table) nextID(name string) int32 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if name == workspaceCounter {
		return t.lastWorkspace + 1
	}
	return t.lastProject + 1
}

func (t *table) dropWorkspace(id int32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.workspaces, id)
}

func (t *table) dropProject(id int32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.projects, id)
}

// listWorkspaces returns all workspaces ordered by ID.
func (t *table) listWorkspaces() []*known {
	t.mu.RLock()
	defer t.mu.RUnlock()
	list := slices.Collect(maps.Values(t.workspaces))
	slices.SortFunc(list, func(a, b *known) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// listProjects returns the projects of a workspace ordered by ID. Workspace 0 means all workspaces.
func (t *table) listProjects(workspace int32) []*projectRecord {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var list []*projectRecord
	for _, p := range t.projects {
		if workspace == 0 || p.WorkspaceID == workspace {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b *projectRecord) int { return cmp.Compare(a.ID, b.ID) })
	return list
}
