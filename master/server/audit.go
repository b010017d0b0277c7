package server

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// AuditQuery says which entries of the audit log are wanted. Empty filters let all
// through.
type AuditQuery struct {
	User, Action string
	Since        time.Time
	// After is the id of the last entry that was read.
	After  string
	Follow bool
}

// Audit keeps who did what.
type Audit interface {
	// RecordEntry adds an entry; it returns when that is durable.
	RecordEntry(ctx context.Context, e *apiv1.AuditEntry)
	// ReadEntries calls send for each entry, oldest first.
	ReadEntries(ctx context.Context, q AuditQuery, send func(*apiv1.AuditEntry) error) error
}

// auditedRoute marks a route whose calls are recorded, refused ones as well.
func auditedRoute(action string, r route) route {
	r.action = action
	return r
}

// deed is what is recorded of a call. Handlers fill in what only they know; texts of
// a caller that may be a secret by mistake, as a password in place of a name, are not
// put there.
type deed struct {
	action, target, details string
	recorded                bool
}

// noteTarget notes to what the call is done.
func (c *call) noteTarget(target string, details ...string) {
	c.deed.target, c.deed.details = excerpt.Message(target), excerpt.Message(strings.Join(details, " "))
}

// recordCall writes down the call, once: before the answer, so that what is acknowledged
// is recorded.
func (g *gatekeeper) recordCall(ctx context.Context, c *call, err error) {
	if g.cfg.Audit == nil || c.deed.action == "" || c.deed.recorded || c.allocation != "" {
		return // what a task says with its own token is no person's deed
	}
	c.deed.recorded = true
	e := &apiv1.AuditEntry{
		User: c.user.GetUsername(), UserId: c.user.GetId(), Admin: c.user.GetAdmin(), AllocationId: c.inTask,
		Address: addressOf(c.Request), Action: c.deed.action, Target: c.deed.target, Details: c.deed.details, Outcome: "done",
	}
	if e.Target == "" {
		e.Target = excerpt.Of(c.named())
	}
	if err != nil {
		// The code only: a text may quote what the caller sent.
		e.Outcome, e.Reason = "refused", codeOf(err).String()
		if codeOf(err).HTTP() >= http.StatusInternalServerError {
			e.Outcome = "failed"
		}
	}
	g.cfg.Audit.RecordEntry(ctx, e)
}

// named is what the path of a call names, for one that was refused at the door.
func (c *call) named() string {
	for _, name := range []string{"agent", "command", "allocation", "experiment", "trial", "checkpoint", "project", "workspace", "template", "model", "user"} {
		if v := c.PathValue(name); v != "" {
			return v
		}
	}
	return ""
}

func addressOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// auditCalls reads the audit log.
type auditCalls struct{ *shared }

func (a *auditCalls) routes() []route {
	if a.cfg.Audit == nil {
		return nil
	}
	return []route{getRoute("audit", admin, streamCall(a.shared, a.auditLog))}
}

// auditLog answers GET audit.
func (a *auditCalls) auditLog(ctx context.Context, c *call, send func(*apiv1.AuditResponse) error) error {
	params := c.query()
	q := AuditQuery{
		User: params.Text("user"), Action: params.Text("action"), Since: params.Time("since"), After: params.Text("afterId"), Follow: params.IsSet("follow"),
	}
	if params.Err() != nil {
		return params.Err()
	}
	return a.cfg.Audit.ReadEntries(ctx, q, func(e *apiv1.AuditEntry) error { return send(&apiv1.AuditResponse{Entry: e}) })
}

// findUser is a username as it is recorded of a caller who is not logged in: a name
// that no user has may be a password in the wrong field.
func (s *shared) findUser(name string) string {
	u, err := s.cfg.Accounts.UserNamed(name)
	if err != nil {
		return "unknown user"
	}
	return u.GetUsername()
}

// userTarget is the name of the user with an id.
func (s *shared) userTarget(id int32) string {
	if u, err := s.cfg.Accounts.User(id); err == nil {
		return u.GetUsername()
	}
	return fmt.Sprintf("user %d", id)
}

// describeChanges says what a patch of a user changes, without its passwords.
func describeChanges(p *apiv1.PatchUser) []string {
	var out []string
	note := func(given bool, text string) {
		if given {
			out = append(out, text)
		}
	}
	note(p.Username != nil, "username")
	note(p.Password != nil, "password")
	note(p.Admin != nil, fmt.Sprintf("admin=%v", p.GetAdmin()))
	note(p.Active != nil, fmt.Sprintf("active=%v", p.GetActive()))
	note(p.DisplayName != nil, "display_name")
	note(p.Remote != nil, fmt.Sprintf("remote=%v", p.GetRemote()))
	note(p.AgentUserGroup != nil, fmt.Sprintf("agent_user_group=%d:%d", p.GetAgentUserGroup().GetAgentUid(), p.GetAgentUserGroup().GetAgentGid()))
	return out
}

// mostListed bounds how many jobs of one call an entry lists.
const mostListed = 10

// jobChanges says what a call does to the queue.
func jobChanges(in *apiv1.UpdateJobQueueRequest) []string {
	var out []string
	for i, u := range in.GetUpdates() {
		if i == mostListed {
			return append(out, fmt.Sprintf("and %d more", len(in.GetUpdates())-mostListed))
		}
		text := u.GetJobId() + ":"
		for _, f := range []struct {
			given bool
			text  string
		}{
			{u.Priority != nil, fmt.Sprintf(" priority=%d", u.GetPriority())},
			{u.Weight != nil, fmt.Sprintf(" weight=%v", u.GetWeight())},
			{u.MaxSlots != nil, fmt.Sprintf(" max_slots=%d", u.GetMaxSlots())},
			{u.ResourcePool != nil, " resource_pool=" + u.GetResourcePool()},
			{u.AheadOf != nil, " ahead_of=" + u.GetAheadOf()},
			{u.BehindOf != nil, " behind_of=" + u.GetBehindOf()},
		} {
			if f.given {
				text += f.text
			}
		}
		out = append(out, text)
	}
	return out
}

// ownerOf is whose task something is done to, for the record.
func (s *shared) ownerOf(c *call, task string) string {
	owner, err := s.cfg.Tasks.Owner(c.Context(), task)
	switch {
	case status.Of(err) == status.NotFound:
		return "no such task"
	case err != nil:
		return ""
	}
	return s.describeOwner(c, owner)
}

// describeOwner says whose the thing is that a call is about.
func (s *shared) describeOwner(c *call, owner int32) string {
	if owner == c.user.GetId() {
		return "own"
	}
	return "of user " + s.userTarget(owner)
}
