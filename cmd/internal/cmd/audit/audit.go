// Package audit is the command that shows who did what to a cluster.
package audit

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

type auditOptions struct {
	*term.Streams
	contexts.Target

	User   string
	Action string
	Since  string
	Follow bool
	Output term.Format
}

// New returns `det-deploy audit`.
func New(s *term.Streams) *cobra.Command { return newAudit(s, runAudit) }

func newAudit(s *term.Streams, run func(context.Context, *auditOptions) error) *cobra.Command {
	o := &auditOptions{Streams: s}
	c := &cobra.Command{
		Use:   "audit",
		Short: "Show the audit log",
		Long: `Show the cluster's audit log, oldest entry first: logins, users, passwords, keys,
agents, kills, priorities and configuration, with who, from where, when, and
whether it was done. For administrators.`,
		Example: `  det-deploy audit --since 24h
  det-deploy audit --user ada --action task.kill
  det-deploy audit --follow --output json`,
		Args: usage.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			return run(c.Context(), o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.User, "user", "", "show only actions of this user")
	f.StringVar(&o.Action, "action", "", "show only this action; user. shows all that begin so")
	f.StringVar(&o.Since, "since", "", "show lines since a duration such as 10m, or a time such as 2006-01-02T15:04:05Z")
	f.BoolVarP(&o.Follow, "follow", "f", false, "follow new lines until interrupted")
	o.AddFlag(f)
	o.Output.AddFlag(f)
	return c
}

func (o *auditOptions) validate() error {
	_, err := usage.Since(o.Since, time.Now())
	return err
}

func runAudit(ctx context.Context, o *auditOptions) error {
	master, err := o.Dial(o.Streams)
	if err != nil {
		return err
	}
	defer master.Close()
	q := client.AuditQuery{User: o.User, Action: o.Action, Follow: o.Follow}
	if q.Since, err = usage.Since(o.Since, time.Now()); err != nil {
		return err
	}
	for e, err := range master.Audit(ctx, q) {
		if err != nil {
			return err
		}
		if o.Output == term.JSON {
			if err := o.PrintMessageLine(e.GetEntry()); err != nil {
				return fmt.Errorf("print the audit log: %w", err)
			}
			continue
		}
		o.Printf("%s", text(e.GetEntry()))
	}
	return nil
}

// text is one line for people.
func text(e *apiv1.AuditEntry) string {
	who := e.GetUser()
	if who == "" {
		who = "-"
	}
	parts := []string{e.GetTime().AsTime().UTC().Format(time.RFC3339), who, e.GetAction(), e.GetOutcome()}
	for _, p := range [][2]string{
		{"target", e.GetTarget()},
		{"from", e.GetAddress()},
		{"in", e.GetAllocationId()},
		{"because", e.GetReason()},
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
