package task

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/master/config/security"
	"github.com/det-deploy/det-deploy/master/policy"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
	"github.com/det-deploy/det-deploy/master/task/spec"
	"github.com/det-deploy/det-deploy/master/workspace"
)

// applyTemplate merges the configuration over the template that the submission names, if any.
func (l *launches) applyTemplate(ctx context.Context, d draft) (draft, error) {
	d.config = d.req.GetConfig()
	name := d.req.GetTemplateName()
	if name == "" {
		return d, nil
	}
	template, err := l.cfg.Template(ctx, name)
	if err != nil {
		return d, err
	}
	d.config, d.warnings, err = spec.Overlay(name, template, d.config)
	if err != nil {
		return d, status.New(status.InvalidArgument, "%v", err)
	}
	return d, nil
}

// place is the workspace, the pool and the account of a task.
type place struct {
	workspace workspace.Workspace
	pool      string
	unix      security.AgentUser
}

// findPlace returns the place of a user's task. Id 0 selects the first workspace.
func (p *policies) findPlace(manager rm.ResourceManager, user *apiv1.User, id int32, r spec.Resources) (place, error) {
	w, err := p.cfg.OpenWorkspace(cmp.Or(id, workspace.First))
	if err == nil {
		err = w.CheckUser(user)
	}
	if err != nil {
		return place{}, err
	}
	pool, err := choosePool(manager.PoolSettings(), w, r)
	return place{workspace: w, pool: pool, unix: w.Unix.Over(p.unixUser(user))}, err
}

// firstWorkspace returns the first workspace, which every cluster has, and an error for any other id.
func firstWorkspace(id int32) (workspace.Workspace, error) {
	if id != workspace.First {
		return workspace.Workspace{}, status.Missing("workspace", strconv.Itoa(int(id)))
	}
	return workspace.Workspace{ID: workspace.First, Name: workspace.Uncategorized}, nil
}

// choosePool returns the pool that a task names, or the default one for its slots: the workspace's, or
// the cluster's.
func choosePool(pools []rm.PoolSettings, w workspace.Workspace, r spec.Resources) (string, error) {
	compute := r.Slots == nil || *r.Slots > 0
	named, setting := r.ResourcePool, "resources.resource_pool"
	if named == "" {
		setting = "default pool of workspace '" + w.Name + "'"
		if named = w.AuxPool; compute {
			named = w.ComputePool
		}
	}
	var names []string
	for _, p := range pools {
		names = append(names, p.Name)
		if named == "" && (compute && p.DefaultCompute || !compute && p.DefaultAux) {
			return p.Name, nil
		}
	}
	slices.Sort(names)
	switch {
	case named == "":
		return "", status.New(status.InvalidArgument, "there is no default resource pool; set resources.resource_pool to one of %q", names)
	case !slices.Contains(names, named):
		return "", status.New(status.InvalidArgument, "%s: there is no resource pool %q; choose one of %q", setting, excerpt.Of(named), names)
	}
	return named, nil
}

// unixUser returns the account that a user's tasks run as.
func (p *policies) unixUser(u *apiv1.User) security.AgentUser {
	g := u.GetAgentUserGroup()
	if g == nil || g.AgentUid == nil {
		return p.cfg.DefaultUser
	}
	return security.AgentUser{
		User: g.GetAgentUser(), UID: int(g.GetAgentUid()), Group: g.GetAgentGroup(), GID: int(g.GetAgentGid()),
	}
}

// Place is the place of a user's job.
type Place struct {
	Pool string
	// Priority is the pool's default priority.
	Priority int
	// Defaults are the container defaults of the pool, limited by the user's policy.
	Defaults container.Defaults
	// Unix is the account that the user's programs run as.
	Unix security.AgentUser
}

// Admission is the result of Admit for a job that may run.
type Admission struct {
	// Exceeds reports that it waits for more slots than there are.
	Exceeds bool
	// Warnings are for its log.
	Warnings []string
}

// Place returns the pool that a job in a workspace names, or for an empty name the default one for its
// slots; nil slots means a positive number. The errors have the codes InvalidArgument, NotFound,
// FailedPrecondition for a workspace that takes no jobs, PermissionDenied for a user who may not run
// tasks, and Unavailable until the resource manager is attached.
func (o *owned) Place(user *apiv1.User, workspaceID int32, pool string, slots *int) (Place, error) {
	if err := o.policies.checkMayRun(user); err != nil {
		return Place{}, err
	}
	r := o.reg.managerOf()
	if r == nil {
		return Place{}, errStarting()
	}
	at, err := o.policies.findPlace(r, user, workspaceID, spec.Resources{ResourcePool: pool, Slots: slots})
	if err != nil {
		return Place{}, err
	}
	p := Place{Pool: at.pool, Defaults: o.policies.defaultsFor(user, at.pool), Unix: at.unix}
	for _, s := range r.PoolSettings() {
		if s.Name == at.pool {
			p.Priority = s.DefaultPriority
		}
	}
	return p, nil
}

// Admit returns an error if a user's job may not or can never run: its policy must allow the job in its
// pool, which must have the machines or be able to get them. The errors have the codes InvalidArgument,
// PermissionDenied, FailedPrecondition and Unavailable.
func (o *owned) Admit(user *apiv1.User, order StartOrder, asked policy.Asked) (Admission, error) {
	var a Admission
	r := o.reg.managerOf()
	if r == nil {
		return a, errStarting()
	}
	if err := checkAsked(o.policies.policyOf(user.GetId(), order.Pool), asked); err != nil {
		return a, err
	}
	task := taskOfOrder(order)
	request := o.policies.requestOf(task, lifecycle.First(task, o.cfg.Now()))
	refusal := r.Validate(request)
	if u, is := errors.AsType[*rm.Unfulfillable](refusal); is && u.Empty {
		// A command fails if the pool has no machine, as in Determined 0.38.1; an experiment waits for
		// one.
		a.Warnings, refusal, task.Exceeds = []string{fmt.Sprintf("resource pool %q has no agents; waiting until one with enough slots joins", u.Pool)}, nil, true
	}
	if err := judgeRefusal(refusal, request.SingleNode || o.cfg.LaunchError, &task); err != nil {
		return a, err
	}
	a.Exceeds = task.Exceeds
	if err := checkClaims(r, asked); err != nil {
		return a, err
	}
	if m, ok := r.(rm.Remarks); ok {
		a.Warnings = append(a.Warnings, m.Remarks(request)...)
	}
	return a, nil
}

// LimitChange adds the limit of the user's policy to a change of a job, which has a priority in a pool.
// It returns PermissionDenied if the policy forbids the new priority, or the present one in the new pool.
func (o *owned) LimitChange(by *apiv1.User, pool string, priority int, c rm.Change) (rm.Change, error) {
	return o.policies.limitChange(by, pool, priority, c)
}

// checkClaims returns an error if the job would wait for a volume claim that cannot be created.
func checkClaims(r rm.ResourceManager, asked policy.Asked) error {
	claims, ok := r.(rm.Claims)
	if !ok {
		return nil
	}
	for _, m := range asked.Mounts {
		claim, _ := policy.ClaimOf(m.Path)
		if claim == "" {
			continue
		}
		if err := claims.CheckClaim(claim); err != nil {
			return status.New(status.FailedPrecondition, "%s: %v", m.Field, err)
		}
	}
	return nil
}

func errStarting() error {
	return status.New(status.Unavailable, "the master is starting; try again in a moment")
}

// checkMayRun returns an error for users who may not run tasks in this cluster.
func (p *policies) checkMayRun(user *apiv1.User) error {
	if !p.cfg.AdministratorsOnly || user.GetAdmin() {
		return nil
	}
	return status.New(status.PermissionDenied, "only administrators may run tasks in this cluster, "+
		"because tasks are not isolated from its machine; to allow all users: `det-deploy local up --trust-users`, or security.trust_users in master.yaml")
}

// defaultsFor returns the container defaults of a pool for a user's tasks.
func (p *policies) defaultsFor(user *apiv1.User, pool string) container.Defaults {
	d := p.cfg.Defaults(pool)
	d.ShmSize = capDefault(d.ShmSize, p.policyOf(user.GetId(), pool).MaxShm)
	return d
}
