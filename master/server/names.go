package server

import (
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// nameCalls serves the call that finds objects by the beginning of their ID or name.
type nameCalls struct{ *shared }

func (n *nameCalls) routes() []route {
	return []route{getRoute("names/{kind}", user, plainCall(n.names))}
}

const (
	// fewNames and mostNames are the number of returned names: the default and the maximum.
	fewNames  = 20
	mostNames = 200
)

func (n *nameCalls) names(c *call) (*apiv1.GetNamesResponse, error) {
	params := c.query()
	text, limit := params.Text("text"), params.Number("limit")
	if params.Err() != nil {
		return nil, params.Err()
	}
	if limit <= 0 || limit > mostNames {
		limit = fewNames
	}
	list, err := n.find(c, text, limit+1)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(x *apiv1.Name) bool { return !beginsWith(x, text) })
	more := len(list) > limit
	return &apiv1.GetNamesResponse{Names: list[:min(len(list), limit)], More: more}, nil
}

func beginsWith(x *apiv1.Name, text string) bool {
	path := x.GetWorkspace() + "/" + x.GetName()
	return strings.HasPrefix(x.GetId(), text) || strings.HasPrefix(x.GetTaskId(), text) || strings.HasPrefix(x.GetName(), text) || x.GetWorkspace() != "" && strings.HasPrefix(path, text)
}

// find returns the names of a kind. They may include some that do not begin with text.
func (n *nameCalls) find(c *call, text string, limit int) ([]*apiv1.Name, error) {
	switch kind := c.PathValue("kind"); {
	case kind == "tasks" && n.cfg.Tasks != nil:
		return n.tasks(c, text, limit)
	case kind == "experiments" && n.cfg.Experiments != nil:
		return n.cfg.Experiments.Named(text, limit), nil
	case kind == "trials" && n.cfg.Trials != nil:
		return n.cfg.Trials.Named(c.Context(), text, limit)
	case kind == "checkpoints" && n.cfg.Checkpoints != nil:
		return n.checkpoints(c, text, limit)
	case kind == "jobs" && n.cfg.Queue != nil:
		return n.jobs(), nil
	case kind == "pools" && n.cfg.Queue != nil:
		return n.pools(), nil
	case kind == "agents" && n.cfg.Machines != nil:
		return n.agents(), nil
	case kind == "models" && n.cfg.Models != nil:
		return n.models(), nil
	case kind == "workspaces" && n.cfg.Workspaces != nil:
		return n.workspaces(c), nil
	case kind == "projects" && n.cfg.Workspaces != nil:
		return n.projects(c), nil
	case kind == "templates" && n.cfg.Templates != nil:
		return n.templates(c), nil
	case kind == "users":
		return n.users(c)
	default:
		return nil, status.Missing("kind of names", kind)
	}
}

// tasks returns commands and arrays and, for a text with a dot, the tasks of trials.
func (n *nameCalls) tasks(c *call, text string, limit int) ([]*apiv1.Name, error) {
	list, err := n.cfg.Tasks.Named(c.Context(), text, limit)
	if err != nil || !strings.Contains(text, ".") || n.cfg.Trials == nil {
		return list, err
	}
	trials, err := n.cfg.Trials.Named(c.Context(), text, limit)
	for _, x := range trials {
		if x.TaskId != nil {
			x.Id, x.TaskId = x.GetTaskId(), nil
			list = append(list, x)
		}
	}
	return list, err
}

// checkpoints returns those that the caller may read.
func (n *nameCalls) checkpoints(c *call, text string, limit int) ([]*apiv1.Name, error) {
	ids, err := n.cfg.Checkpoints.IDsBeginning(c.Context(), text, limit)
	var out []*apiv1.Name
	for _, id := range ids {
		if n.cfg.Checkpoints.CheckReader(c.Context(), callerOf(c), id) == nil {
			out = append(out, &apiv1.Name{Id: id})
		}
	}
	return out, err
}

func (n *nameCalls) jobs() []*apiv1.Name {
	var out []*apiv1.Name
	for _, j := range n.cfg.Queue.Queue(rm.QueuePart{}) {
		out = append(out, &apiv1.Name{Id: j.GetJobId(), Name: j.GetName(), Username: j.GetUsername()})
	}
	return out
}

func (n *nameCalls) pools() []*apiv1.Name {
	var out []*apiv1.Name
	for _, p := range n.cfg.Queue.PoolSettings() {
		out = append(out, &apiv1.Name{Id: p.Name})
	}
	return out
}

func (n *nameCalls) agents() []*apiv1.Name {
	var out []*apiv1.Name
	for _, a := range n.cfg.Machines.Agents() {
		out = append(out, &apiv1.Name{Id: a.GetId()})
	}
	return out
}

func (n *nameCalls) models() []*apiv1.Name {
	var out []*apiv1.Name
	for _, m := range n.cfg.Models.List() {
		out = append(out, &apiv1.Name{Id: m.GetName(), Username: m.GetUsername()})
	}
	return out
}

func (n *nameCalls) workspaces(c *call) []*apiv1.Name {
	var out []*apiv1.Name
	for _, w := range n.cfg.Workspaces.List(c.user) {
		out = append(out, &apiv1.Name{Id: shownNumber(w.GetId()), Name: w.GetName(), Username: w.GetUsername()})
	}
	return out
}

// projects returns those of the workspaces that the caller may see.
func (n *nameCalls) projects(c *call) []*apiv1.Name {
	var out []*apiv1.Name
	for _, w := range n.cfg.Workspaces.List(c.user) {
		for _, p := range n.cfg.Workspaces.ListProjects(w.GetId()) {
			out = append(out, &apiv1.Name{Id: shownNumber(p.GetId()), Name: p.GetName(), Username: p.GetUsername(), Workspace: w.GetName()})
		}
	}
	return out
}

func (n *nameCalls) templates(c *call) []*apiv1.Name {
	var out []*apiv1.Name
	for _, t := range n.cfg.Templates.All(c.user) {
		out = append(out, &apiv1.Name{Id: t.GetName()})
	}
	return out
}

// users are not listed for tokens inside tasks, as by the call that lists users.
func (n *nameCalls) users(c *call) ([]*apiv1.Name, error) {
	if c.inTask != "" {
		return nil, status.New(status.PermissionDenied, "a token inside a task cannot list users")
	}
	var out []*apiv1.Name
	for _, u := range n.cfg.Accounts.Users() {
		out = append(out, &apiv1.Name{Id: u.GetUsername(), Name: u.GetDisplayName()})
	}
	return out, nil
}
