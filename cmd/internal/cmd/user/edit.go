package user

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

type editOptions struct {
	command.Remote

	Rename      string
	DisplayName string
	Admin       bool
	AgentUser   string
	AgentUID    int32
	AgentGroup  string
	AgentGID    int32
}

func newEdit(s *term.Streams) *cobra.Command {
	o := &editOptions{}
	o.Names = client.Users
	c := command.NewRemote(s, o, runEdit, &cobra.Command{
		Use:   "edit USER",
		Short: "Change a user's name, rights, or the Unix account of their tasks",
		Example: `  det-deploy user edit ada --display-name "Ada Lovelace"
  det-deploy user edit ada --admin=false
  det-deploy user edit ada --agent-user ada --agent-uid 1004 --agent-group lab --agent-gid 200`,
	})
	f := c.Flags()
	f.StringVar(&o.Rename, "rename", "", "new name of the user")
	f.StringVar(&o.DisplayName, "display-name", "", "display name")
	f.BoolVar(&o.Admin, "admin", false, "administrator rights")
	f.StringVar(&o.AgentUser, "agent-user", "", "Unix user of the user's tasks")
	f.Int32Var(&o.AgentUID, "agent-uid", 0, "Unix user ID for --agent-user")
	f.StringVar(&o.AgentGroup, "agent-group", "", "Unix group of the user's tasks")
	f.Int32Var(&o.AgentGID, "agent-gid", 0, "Unix group ID for --agent-group")
	return c
}

func (o *editOptions) Validate() error {
	account := 0
	for _, flag := range []string{"agent-user", "agent-uid", "agent-group", "agent-gid"} {
		if o.Given(flag) {
			account++
		}
	}
	switch {
	case account != 0 && account != 4:
		return usage.Errorf("a Unix account requires all of --agent-user, --agent-uid, --agent-group and --agent-gid")
	case account == 0 && !o.Given("rename") && !o.Given("display-name") && !o.Given("admin"):
		return usage.Errorf("nothing to change: use --rename, --display-name, --admin or the four --agent-… flags")
	}
	return nil
}

// changedFields returns the changes that the flags request.
func (o *editOptions) changedFields() *apiv1.PatchUser {
	p := &apiv1.PatchUser{}
	if o.Given("rename") {
		p.Username = &o.Rename
	}
	if o.Given("display-name") {
		p.DisplayName = &o.DisplayName
	}
	if o.Given("admin") {
		p.Admin = &o.Admin
	}
	if o.Given("agent-user") {
		p.AgentUserGroup = &apiv1.AgentUserGroup{
			AgentUser: &o.AgentUser, AgentUid: &o.AgentUID, AgentGroup: &o.AgentGroup, AgentGid: &o.AgentGID,
		}
	}
	return p
}

func runEdit(ctx context.Context, o *editOptions, master *client.Client) error {
	u, err := patchUser(ctx, master, o.Args[0], o.changedFields())
	if err != nil {
		return err
	}
	return o.AnswerNote(u, "Updated user %s.", u.GetUsername())
}
