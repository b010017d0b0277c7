package auth

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/det-deploy/det-deploy/internal/document/naming"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/store"
)

// userTable is every account in memory.
type userTable struct {
	mu       sync.RWMutex
	users    map[int32]*account
	byName   map[string]int32
	nextUser int32
}

func (t *userTable) loadUsers(ctx context.Context, s *store.Store) error {
	docs, err := users.All(ctx, s)
	for _, d := range docs {
		t.keepUser(d.Value)
	}
	return err
}

// keepUser makes memory agree with what has been stored.
func (t *userTable) keepUser(u userRecord) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if old, found := t.users[u.ID]; found {
		delete(t.byName, old.Username)
	}
	inTask := u.toAPI()
	inTask.Admin = false
	t.users[u.ID] = &account{
		userRecord: u, shown: u.toAPI(), inTask: inTask,
		look: naming.Fold(u.Username), shownLook: foldShown(u.DisplayName),
	}
	t.byName[u.Username] = u.ID
	t.nextUser = max(t.nextUser, u.ID+1)
}

func (t *userTable) findUser(id int32) (*account, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	u, found := t.users[id]
	return u, found
}

func (t *userTable) findNamed(username string) (*account, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	u, found := t.users[t.byName[normalizeName(username)]]
	return u, found
}

// listUsers is every user by id.
func (t *userTable) listUsers() []*apiv1.User {
	t.mu.RLock()
	defer t.mu.RUnlock()
	list := make([]*apiv1.User, 0, len(t.users))
	for u := range maps.Values(t.users) {
		list = append(list, u.shown)
	}
	slices.SortFunc(list, func(x, y *apiv1.User) int { return cmp.Compare(x.GetId(), y.GetId()) })
	return list
}

// findOther is a user, but for one, of whom a condition is true.
func (t *userTable) findOther(id int32, is func(*account) bool) (*account, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, u := range t.users {
		if u.ID != id && is(u) {
			return u, true
		}
	}
	return nil, false
}

// hasOtherAdmin reports whether there is an administrator besides id who can log in.
func (t *userTable) hasOtherAdmin(id int32) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for other, u := range t.users {
		if other != id && u.Admin && u.Active && u.Hash != locked {
			return true
		}
	}
	return false
}
