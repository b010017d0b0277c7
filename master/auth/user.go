package auth

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/det-deploy/det-deploy/internal/document/naming"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/store"
)

// userRecord is a stored user.
type userRecord struct {
	ID          int32      `json:"id"`
	Username    string     `json:"username"`
	DisplayName string     `json:"display_name,omitempty"`
	Admin       bool       `json:"admin,omitempty"`
	Active      bool       `json:"active,omitempty"`
	Remote      bool       `json:"remote,omitempty"`
	Hash        string     `json:"hash,omitempty"`
	Group       *unixGroup `json:"agent_user_group,omitempty"`
	Modified    time.Time  `json:"modified"`
	LastAuth    time.Time  `json:"last_auth,omitzero"`
}

// unixGroup is the Unix account of the user's tasks.
type unixGroup struct {
	UID   int32  `json:"uid"`
	GID   int32  `json:"gid"`
	User  string `json:"user"`
	Group string `json:"group"`
}

var users = store.Collection[userRecord]{Kind: "user"}

// account is a user in memory, with the API message. Neither is modified once it is in the map;
// changes replace it.
type account struct {
	userRecord
	shown *apiv1.User
	// inTask is the user as seen by the user's tools inside tasks.
	inTask *apiv1.User
	// look and shownLook are the folded username and display name.
	look, shownLook string
}

func putUser(tx *store.Tx, u userRecord) error {
	return users.Put(tx, strconv.Itoa(int(u.ID)), "", u.Modified, u)
}

func (u userRecord) toAPI() *apiv1.User {
	m := &apiv1.User{
		Id: u.ID, Username: u.Username, DisplayName: u.DisplayName,
		Admin: u.Admin, Active: u.Active, Remote: u.Remote,
		ModifiedAt: timestamppb.New(u.Modified),
	}
	if !u.LastAuth.IsZero() {
		m.LastAuthAt = timestamppb.New(u.LastAuth)
	}
	if g := u.Group; g != nil {
		m.AgentUserGroup = &apiv1.AgentUserGroup{
			AgentUid: &g.UID, AgentGid: &g.GID, AgentUser: &g.User, AgentGroup: &g.Group,
		}
	}
	return m
}

// normalizeName returns the normalized username: Determined 0.38.1 uses lower case.
func normalizeName(username string) string { return strings.ToLower(username) }

// userTable holds all accounts in memory.
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

// keepUser updates memory after a change was stored.
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

// listUsers returns all users by ID.
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

// findOther returns a user other than id that satisfies a condition.
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

// hasOtherAdmin reports whether an administrator other than id can log in.
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
