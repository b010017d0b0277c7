package task

import (
	"context"
	"slices"
	"strconv"

	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/config/security"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task/spec"
	"github.com/det-deploy/det-deploy/master/workspace"
)

// applyTemplate lays what was sent over the template that it names, if it names one.
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

// place is what a task belongs to, where it runs, and as whom.
type place struct {
	workspace workspace.Workspace
	pool      string
	unix      security.AgentUser
}

// findPlace finds the place of a user's task; without a workspace that is the first one.
func (p *policies) findPlace(manager rm.ResourceManager, user *apiv1.User, id int32, r spec.Resources) (place, error) {
	w, err := p.cfg.OpenWorkspace(max(id, workspace.First))
	if err == nil {
		err = w.CheckUser(user)
	}
	if err != nil {
		return place{}, err
	}
	pool, err := choosePool(manager.PoolSettings(), w, r)
	return place{workspace: w, pool: pool, unix: w.Unix.Over(p.unixUser(user))}, err
}

// firstWorkspace knows the one workspace that every cluster has.
func firstWorkspace(id int32) (workspace.Workspace, error) {
	if id != workspace.First {
		return workspace.Workspace{}, status.Missing("workspace", strconv.Itoa(int(id)))
	}
	return workspace.Workspace{ID: workspace.First, Name: workspace.Uncategorized}, nil
}

// choosePool finds the pool a task names, or the default one for its slots: the workspace's,
// or the cluster's.
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
		return "", status.New(status.InvalidArgument, "there is no default resource pool; name one of %q in resources.resource_pool", names)
	case !slices.Contains(names, named):
		return "", status.New(status.InvalidArgument, "%s: there is no resource pool %q; there are %q", setting, excerpt.Of(named), names)
	}
	return named, nil
}

// unixUser is the account that a user's tasks run as.
func (p *policies) unixUser(u *apiv1.User) security.AgentUser {
	g := u.GetAgentUserGroup()
	if g == nil || g.AgentUid == nil {
		return p.cfg.DefaultUser
	}
	return security.AgentUser{
		User: g.GetAgentUser(), UID: int(g.GetAgentUid()), Group: g.GetAgentGroup(), GID: int(g.GetAgentGid()),
	}
}
