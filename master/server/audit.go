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

// AuditQuery selects entries of the audit log. Empty filters match all entries.
type AuditQuery struct {
	User, Action string
	Since        time.Time
	// After is the ID of the last entry that was read.
	After  string
	Follow bool
	// Newest reads the newest entries first, from the entry before Before on if that is not empty. It cannot
	// be combined with After and Follow.
	Newest bool
	Before string
	// Limit is the maximum number of entries; 0 means no limit.
	Limit int
}

// Audit is the audit log.
type Audit interface {
	// RecordEntry adds an entry. It returns when the entry is durable.
	RecordEntry(ctx context.Context, e *apiv1.AuditEntry)
	// ReadEntries calls send for each entry, oldest first unless q selects another order.
	ReadEntries(ctx context.Context, q AuditQuery, send func(*apiv1.AuditEntry) error) error
}

// auditedRoute marks a route whose calls are recorded, including rejected ones.
func auditedRoute(action string, r route) route {
	r.action = action
	return r
}

// deed holds the recorded facts of a call, which handlers add. They must not add texts from a caller that
// may contain a secret by mistake, such as a password in the field of a name.
type deed struct {
	action, target, details string
	recorded                bool
}

// noteTarget sets the target of the call.
func (c *call) noteTarget(target string, details ...string) {
	c.deed.target, c.deed.details = excerpt.Message(target), excerpt.Message(strings.Join(details, " "))
}

// recordCall records the call, once. It runs before the response, so that every acknowledged call is
// recorded.
func (g *gatekeeper) recordCall(ctx context.Context, c *call, err error) {
	if g.cfg.Audit == nil || c.deed.action == "" || c.deed.recorded || c.allocation != "" {
		return // calls with the token of a task are not made by a person
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
		// Only the code is recorded, because the text may quote the caller's input.
		e.Outcome, e.Reason = "refused", codeOf(err).String()
		if codeOf(err).HTTP() >= http.StatusInternalServerError {
			e.Outcome = "failed"
		}
	}
	g.cfg.Audit.RecordEntry(ctx, e)
}

// named returns the object named in the path, for calls that were rejected before their handler ran.
func (c *call) named() string {
	for _, name := range []string{"agent", "command", "shell", "notebook", "tensorboard", "service", "allocation", "experiment", "trial", "checkpoint", "project", "workspace", "template", "model", "user"} {
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

// auditCalls serves the calls that read the audit log.
type auditCalls struct{ *shared }

func (a *auditCalls) routes() []route {
	if a.cfg.Audit == nil {
		return nil
	}
	return []route{getRoute("audit", admin, streamCall(a.shared, a.auditLog))}
}

// auditLog serves GET audit.
func (a *auditCalls) auditLog(ctx context.Context, c *call, send func(*apiv1.AuditResponse) error) error {
	params := c.query()
	q := AuditQuery{
		User: params.Text("user"), Action: params.Text("action"), Since: params.Time("since"), After: params.Text("afterId"), Follow: params.IsSet("follow"),
		Newest: params.Descending(), Before: params.Text("beforeId"), Limit: params.Lines(),
	}
	if params.Err() != nil {
		return params.Err()
	}
	if q.Newest && (q.Follow || q.After != "") || q.Before != "" && !q.Newest {
		return status.New(status.InvalidArgument, "ORDER_BY_DESC cannot be combined with follow or afterId, and beforeId requires it")
	}
	return a.cfg.Audit.ReadEntries(ctx, q, func(e *apiv1.AuditEntry) error { return send(&apiv1.AuditResponse{Entry: e}) })
}

// findUser returns the name to record for a caller who is not logged in. It does not return unknown names,
// because such a name may be a password in the wrong field.
func (s *shared) findUser(name string) string {
	u, err := s.cfg.Accounts.UserNamed(name)
	if err != nil {
		return "unknown user"
	}
	return u.GetUsername()
}

// userTarget returns the name of the user with an ID.
func (s *shared) userTarget(id int32) string {
	if u, err := s.cfg.Accounts.User(id); err == nil {
		return u.GetUsername()
	}
	return fmt.Sprintf("user %d", id)
}

// describeChanges lists the changes of a user patch, without passwords.
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

// mostListed is the maximum number of jobs that an entry lists.
const mostListed = 10

// jobChanges lists the changes of the queue.
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

// ownerOf describes the owner of a task for the audit log.
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

// describeOwner returns "own" if the caller is the owner, or else the name of the owner.
func (s *shared) describeOwner(c *call, owner int32) string {
	if owner == c.user.GetId() {
		return "own"
	}
	return "of user " + s.userTarget(owner)
}
