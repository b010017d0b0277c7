package auth

import (
	"context"
	"strconv"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/store"
)

// accounts manages the users of the cluster.
type accounts struct {
	*shared

	users     *userTable
	passwords *passwords
	tokens    *tokens
}

// Users returns all users by ID. The messages must not be changed.
func (a *accounts) Users() []*apiv1.User { return a.users.listUsers() }

// User returns the user with that ID. The message must not be changed.
func (a *accounts) User(id int32) (*apiv1.User, error) {
	u, found := a.users.findUser(id)
	if !found {
		return nil, status.Missing("user", strconv.Itoa(int(id)))
	}
	return u.shown, nil
}

// Administrator reports whether a user is an active administrator.
func (a *accounts) Administrator(id int32) bool {
	u, err := a.User(id)
	return err == nil && u.GetAdmin() && u.GetActive()
}

// UserNamed returns the user of that name, regardless of case. The message must not be changed.
func (a *accounts) UserNamed(username string) (*apiv1.User, error) {
	u, found := a.users.findNamed(username)
	if !found {
		return nil, status.Missing("user", username)
	}
	return u.shown, nil
}

// CreateUser creates a user. It requires an administrator.
func (a *accounts) CreateUser(ctx context.Context, by *apiv1.User, r *apiv1.PostUserRequest) (*apiv1.User, error) {
	if !by.GetAdmin() {
		return nil, status.New(status.PermissionDenied, "only administrators may create users")
	}
	in := r.GetUser()
	u := userRecord{
		Username: normalizeName(in.GetUsername()), DisplayName: in.GetDisplayName(),
		Admin: in.GetAdmin(), Active: in.GetActive(), Remote: in.GetRemote(),
	}
	var err error
	if u.Group, err = readGroup(in.GetAgentUserGroup()); err != nil {
		return nil, err
	}
	if u.Hash, err = a.passwords.newHash(ctx, r.GetPassword(), r.GetIsHashed(), u.Remote); err != nil {
		return nil, err
	}
	if err := checkDisplayName(u.DisplayName); err != nil {
		return nil, err
	}
	a.change.Lock()
	defer a.change.Unlock()
	if err := a.checkName(u.Username, 0); err != nil {
		return nil, err
	}
	if err := a.checkShownName(by, u.DisplayName, u.Username, 0); err != nil {
		return nil, err
	}
	u.ID, u.Modified = a.users.nextUser, a.cfg.Now()
	return a.writeUser(ctx, u)
}

// PatchUser changes the fields that are set in p. Administrators may change everything, other users
// their own display name and password. Text is the caller's token; users who change their own
// password must have proven the old one.
func (a *accounts) PatchUser(ctx context.Context, by *apiv1.User, text string, id int32, p *apiv1.PatchUser) (*apiv1.User, error) {
	if !by.GetAdmin() {
		if by.GetId() != id {
			return nil, status.New(status.PermissionDenied, "only administrators may change other users")
		}
		if p.Username != nil || p.Admin != nil || p.Active != nil || p.Remote != nil || p.AgentUserGroup != nil {
			return nil, status.New(status.PermissionDenied,
				"only administrators may change more than a display name and a password")
		}
	}
	if err := a.provePassword(ctx, by, text, id, p); err != nil {
		return nil, err
	}
	hash, err := a.patchedHash(ctx, id, p)
	if err != nil {
		return nil, err
	}
	a.change.Lock()
	defer a.change.Unlock()
	old, found := a.users.findUser(id)
	if !found {
		return nil, status.Missing("user", strconv.Itoa(int(id)))
	}
	u := old.userRecord
	if err := a.applyPatch(&u, p); err != nil {
		return nil, err
	}
	if u.DisplayName != old.DisplayName {
		if err := a.checkShownName(by, u.DisplayName, u.Username, id); err != nil {
			return nil, err
		}
	}
	if hash != nil {
		u.Hash = *hash
	}
	if old.Admin && old.Active && (!u.Admin || !u.Active) && !a.users.hasOtherAdmin(id) {
		return nil, status.New(status.FailedPrecondition,
			"'%s' is the last active administrator; make another user one first", old.Username)
	}
	u.Modified = a.cfg.Now()
	if hash != nil || !u.Active {
		if err := a.tokens.dropUserTokens(ctx, id); err != nil {
			return nil, err
		}
	}
	return a.writeUser(ctx, u)
}

func (a *accounts) applyPatch(u *userRecord, p *apiv1.PatchUser) (err error) {
	if p.Username != nil {
		u.Username = normalizeName(p.GetUsername())
		if err := a.checkName(u.Username, u.ID); err != nil {
			return err
		}
	}
	if p.DisplayName != nil {
		u.DisplayName = p.GetDisplayName()
		if err := checkDisplayName(u.DisplayName); err != nil {
			return err
		}
	}
	if p.Admin != nil {
		u.Admin = p.GetAdmin()
	}
	if p.Active != nil {
		u.Active = p.GetActive()
	}
	if p.Remote != nil {
		u.Remote = p.GetRemote()
	}
	if p.AgentUserGroup != nil {
		u.Group, err = readGroup(p.AgentUserGroup)
	}
	return err
}

func (a *accounts) patchedHash(ctx context.Context, id int32, p *apiv1.PatchUser) (*string, error) {
	remote := p.GetRemote()
	if u, found := a.users.findUser(id); found && p.Remote == nil {
		remote = u.Remote
	}
	if p.Password == nil && !p.GetRemote() {
		return nil, nil //nolint:nilnil // nil means no change
	}
	hash, err := a.passwords.newHash(ctx, p.GetPassword(), p.GetIsHashed(), remote)
	return &hash, err
}

func (a *accounts) writeUser(ctx context.Context, u userRecord) (*apiv1.User, error) {
	if err := a.cfg.Store.Write(ctx, func(tx *store.Tx) error { return putUser(tx, u) }); err != nil {
		return nil, err
	}
	a.users.keepUser(u)
	return a.User(u.ID)
}

// readGroup reads a Unix account: all four fields, or none to remove it.
func readGroup(g *apiv1.AgentUserGroup) (*unixGroup, error) {
	if g == nil || (g.AgentUid == nil && g.AgentGid == nil && g.AgentUser == nil && g.AgentGroup == nil) {
		return nil, nil //nolint:nilnil // nil means no account
	}
	if g.AgentUid == nil || g.AgentGid == nil || g.GetAgentUser() == "" || g.GetAgentGroup() == "" {
		return nil, status.New(status.InvalidArgument,
			"agentUserGroup: agentUid, agentUser, agentGid and agentGroup must be given together")
	}
	if g.GetAgentUid() < 0 || g.GetAgentGid() < 0 {
		return nil, status.New(status.InvalidArgument,
			"agentUserGroup: ids must not be negative (%d, %d)", g.GetAgentUid(), g.GetAgentGid())
	}
	return &unixGroup{UID: g.GetAgentUid(), GID: g.GetAgentGid(), User: g.GetAgentUser(), Group: g.GetAgentGroup()}, nil
}
