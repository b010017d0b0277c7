// Package audit implements the command that shows the audit log of a cluster.
package audit

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

type auditOptions struct {
	command.Remote

	User   string
	Action string
	Since  string
	Follow bool
}

// New returns `det-deploy audit`.
func New(s *term.Streams) *cobra.Command {
	o := &auditOptions{}
	c := command.NewRemote(s, o, runAudit, &cobra.Command{
		Use:   "audit",
		Short: "Show the audit log",
		Long: `Show the cluster's audit log, oldest entry first: logins and changes of users,
passwords, keys, agents, tasks, priorities and configuration, with user, address, time
and outcome. For administrators only.`,
		Example: `  det-deploy audit --since 24h
  det-deploy audit --user ada --action task.kill
  det-deploy audit --follow --output json`,
	})
	f := c.Flags()
	f.StringVar(&o.User, "user", "", "show only actions of this user")
	f.StringVar(&o.Action, "action", "", "show only this action, or with a trailing dot all actions of a group, such as user.")
	f.StringVar(&o.Since, "since", "", "show lines since a duration such as 10m or 1d, a date, or a time such as 2006-01-02T15:04:05Z")
	f.BoolVarP(&o.Follow, "follow", "f", false, "follow new lines until interrupted")
	o.CompleteFlag(c, "user", client.Users)
	return c
}

func (o *auditOptions) Validate() error {
	_, err := usage.Since(o.Since, time.Now())
	return err
}

func runAudit(ctx context.Context, o *auditOptions, master *client.Client) error {
	since, err := usage.Since(o.Since, time.Now())
	if err != nil {
		return err
	}
	q := client.AuditQuery{User: o.User, Action: o.Action, Follow: o.Follow, Since: since}
	return command.AnswerStream(ctx, &o.Local, master.Audit(ctx, q), (*apiv1.AuditResponse).GetEntry, func(e *apiv1.AuditEntry) error {
		o.Printf("%s", text(e))
		return nil
	})
}

// text formats an entry as a line of text.
func text(e *apiv1.AuditEntry) string {
	who := e.GetUser()
	if who == "" {
		who = "-"
	}
	parts := []string{e.GetTime().AsTime().UTC().Format(time.RFC3339), who, e.GetAction(), e.GetOutcome()}
	for _, p := range [][2]string{
		{"target", e.GetTarget()},
		{"from", e.GetAddress()},
		{"allocation", e.GetAllocationId()},
		{"reason", e.GetReason()},
		{"details", e.GetDetails()},
	} {
		if p[1] != "" {
			parts = append(parts, fmt.Sprintf("%s=%q", p[0], p[1]))
		}
	}
	if e.GetCount() > 1 {
		parts = append(parts, fmt.Sprintf("count=%d", e.GetCount()))
	}
	return strings.Join(parts, " ")
}
