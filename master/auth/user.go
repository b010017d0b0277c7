package auth

import (
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/store"
)

// userRecord is what the store keeps of a user.
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

// unixGroup is the Unix account that the user's tasks run as.
type unixGroup struct {
	UID   int32  `json:"uid"`
	GID   int32  `json:"gid"`
	User  string `json:"user"`
	Group string `json:"group"`
}

var users = store.Collection[userRecord]{Kind: "user"}

// find is a user in memory, with the message that is shown of it. Neither is
// changed once it is in the map; a change puts another one there.
type account struct {
	userRecord
	shown *apiv1.User
	// inTask is the user as the tools in their tasks act for them.
	inTask *apiv1.User
	// look and shownLook are the username and the display name as they are compared.
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

// normalizeName is the one spelling of a username: Determined 0.38.1 keeps lower case.
func normalizeName(username string) string { return strings.ToLower(username) }
