package auth

import (
	"strings"
	"unicode"

	"github.com/det-deploy/det-deploy/master/api/excerpt"
	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/config/document"
)

// nameLimit keeps names printable in tables; Unix allows 32, mail addresses more.
const (
	nameLimit        = 128
	displayNameLimit = 256
)

// checkName refuses a name that is none or somebody else's.
func (a *Auth) checkName(name string, id int32) error {
	if name == "" || len(name) > nameLimit || strings.ContainsFunc(name, func(r rune) bool {
		return unicode.IsSpace(r) || r == '/'
	}) {
		return status.New(status.InvalidArgument,
			"username: must have 1 to %d characters, without spaces and slashes (%q)", nameLimit, excerpt.Of(name))
	}
	if !document.IsPrintableName(name) {
		return status.New(status.InvalidArgument, "username: must %s (%q)", document.NameRule, name)
	}
	if scripts := document.MixedScripts(name); scripts != nil {
		return status.New(status.InvalidArgument,
			"username: must have letters of one alphabet (%q mixes %s)", name, strings.Join(scripts, " and "))
	}
	if u, found := a.named(name); found && u.ID != id {
		return status.New(status.AlreadyExists, "user '%s' already exists; choose another name", name)
	}
	look := document.FoldName(name)
	if u, found := a.other(id, func(u *account) bool { return u.look == look }); found {
		return status.New(status.AlreadyExists, "username: '%s' looks like user '%s'; choose another name", name, u.Username)
	}
	return nil
}

// checkDisplayName refuses what would make a list show something else.
func checkDisplayName(name string) error {
	if len(name) > displayNameLimit || !document.IsPrintableName(name) {
		return status.New(status.InvalidArgument, "displayName: must have at most %d bytes, and %s (%.64q)",
			displayNameLimit, document.NameRule, name)
	}
	return nil
}

// checkOwnDisplayName refuses what a user may not be shown as: another user's name.
// Administrators may give two people the same display name.
func (a *Auth) checkOwnDisplayName(name string, id int32) error {
	look := document.FoldName(name)
	if look == "" {
		return nil
	}
	u, found := a.other(id, func(u *account) bool { return u.look == look || u.shownLook == look })
	if !found {
		return nil
	}
	return status.New(status.AlreadyExists,
		"displayName: '%s' looks like user '%s'; choose another, or ask an administrator to set it", name, u.Username)
}

// other is a user, but for one, of whom a condition is true.
func (a *Auth) other(id int32, is func(*account) bool) (*account, bool) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	for _, u := range a.users {
		if u.ID != id && is(u) {
			return u, true
		}
	}
	return nil, false
}
