package model

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/det-deploy/det-deploy/internal/document/naming"
	"github.com/det-deploy/det-deploy/master/store"
)

// table holds every model in memory.
type table struct {
	mu     sync.RWMutex
	models map[int32]modelRecord // its values are immutable
	// The last assigned numbers.
	lastModel, lastVersion int32
}

func newTable() *table { return &table{models: map[int32]modelRecord{}} }

func (t *table) loadAll(ctx context.Context, r store.Reader) error {
	docs, err := modelDocs.All(ctx, r)
	if err != nil {
		return err
	}
	for _, d := range docs {
		t.keep(d.Value)
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
	case modelCounter:
		t.lastModel = max(t.lastModel, last)
	case versionCounter:
		t.lastVersion = max(t.lastVersion, last)
	}
}

// keep updates the table after the model was stored.
func (t *table) keep(m modelRecord) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.models[m.ID] = m
	t.lastModel = max(t.lastModel, m.ID)
}

func (t *table) drop(id int32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.models, id)
}

// countOf returns the number of a user's models.
func (t *table) countOf(user int32) int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	n := 0
	for _, m := range t.models {
		if m.UserID == user {
			n++
		}
	}
	return n
}

// nextIDs returns the next IDs of a model and of a version.
func (t *table) nextIDs() (model, version int32) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.lastModel + 1, t.lastVersion + 1
}

// find returns a model by ID or by name, ignoring case. Names are never numbers.
func (t *table) find(identifier string) (modelRecord, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if id, err := strconv.ParseInt(identifier, 10, 32); err == nil {
		m, found := t.models[int32(id)]
		return m, found
	}
	for _, m := range t.models {
		if strings.EqualFold(m.Name, identifier) {
			return m, true
		}
	}
	return modelRecord{}, false
}

// findLook returns a model whose name looks like name.
func (t *table) findLook(name string) (modelRecord, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, m := range t.models {
		if naming.Fold(m.Name) == naming.Fold(name) {
			return m, true
		}
	}
	return modelRecord{}, false
}

// list returns all models ordered by ID.
func (t *table) list() []modelRecord {
	t.mu.RLock()
	defer t.mu.RUnlock()
	all := slices.Collect(maps.Values(t.models))
	slices.SortFunc(all, func(a, b modelRecord) int { return cmp.Compare(a.ID, b.ID) })
	return all
}
