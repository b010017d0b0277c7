package auth

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/det-deploy/det-deploy/internal/document/naming"
	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// The limits keep names printable in tables. Unix allows 32 bytes, e-mail addresses more.
const (
	nameLimit        = 128 // bytes
	displayNameLimit = 128 // characters
)

// checkName returns an error for a name that is invalid or belongs to another user.
func (a *accounts) checkName(name string, id int32) error {
	if name == "" || len(name) > nameLimit || strings.ContainsFunc(name, func(r rune) bool {
		return unicode.IsSpace(r) || r == '/'
	}) {
		return status.New(status.InvalidArgument,
			"username: must have 1 to %d characters, without spaces and slashes (%q)", nameLimit, excerpt.Of(name))
	}
	if !naming.IsPrintable(name) {
		return status.New(status.InvalidArgument, "username: must %s (%q)", naming.PrintableRule, name)
	}
	if naming.IsDots(name) {
		return status.New(status.InvalidArgument, "username: must %s (%q)", naming.DotsRule, name)
	}
	if scripts := naming.MixedScripts(name); scripts != nil {
		return status.New(status.InvalidArgument,
			"username: must have letters of one alphabet (%q mixes %s)", name, strings.Join(scripts, " and "))
	}
	if u, found := a.users.findNamed(name); found && u.ID != id {
		return status.New(status.AlreadyExists, "user '%s' already exists; choose another name", name)
	}
	look := naming.Fold(name)
	if u, found := a.users.findOther(id, func(u *account) bool { return u.look == look }); found {
		return status.New(status.AlreadyExists, "username: '%s' looks like user '%s'; choose another name", name, u.Username)
	}
	return nil
}

// checkDisplayName returns an error for a display name that could garble a list.
func checkDisplayName(name string) error {
	if utf8.RuneCountInString(name) > displayNameLimit || !naming.IsPrintable(name) {
		return status.New(status.InvalidArgument, "displayName: must have at most %d characters, and %s (%.64q)",
			displayNameLimit, naming.PrintableRule, name)
	}
	return nil
}

// reservedNames are the display names of nobody but the users with these names, as in Determined
// 0.38.1, even where these users have been renamed.
func reservedNames() []string { return []string{"admin", "determined"} }

// checkShownName returns an error for a display name that is reserved or another user's username, even
// if an administrator sets it. Administrators may give two users the same display name.
func (a *accounts) checkShownName(by *apiv1.User, name, username string, id int32) error {
	look := foldShown(name)
	if look == "" {
		return nil
	}
	if u, found := a.users.findOther(id, func(u *account) bool { return u.look == look }); found {
		return status.New(status.AlreadyExists, "displayName: '%s' looks like user '%s'; choose another", name, u.Username)
	}
	if slices.Contains(reservedNames(), look) && look != naming.Fold(username) {
		return status.New(status.InvalidArgument, "displayName: '%s' looks like '%s', which is reserved; choose another", name, look)
	}
	if by.GetAdmin() {
		return nil
	}
	if u, found := a.users.findOther(id, func(u *account) bool { return u.shownLook == look }); found {
		return status.New(status.AlreadyExists,
			"displayName: '%s' looks like that of user '%s'; choose another, or ask an administrator to set it", name, u.Username)
	}
	return nil
}

// foldShown maps display names that look alike to one spelling. It trims white space, which
// usernames do not contain and which is invisible at the ends.
func foldShown(name string) string {
	return naming.Fold(strings.Join(strings.Fields(name), " "))
}
