package server

import (
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
)

// notebookCalls serves the calls about notebooks.
type notebookCalls struct{ *shared }

func (n *notebookCalls) routes() []route {
	if n.cfg.Tasks == nil {
		return nil
	}
	return []route{
		sizedCall(postRoute("notebooks", user, unaryCall(n.launch)), large),
		getRoute("notebooks", user, plainCall(n.notebooks)),
		getRoute("notebooks/{notebook}", user, plainCall(n.notebook)),
		auditedRoute("task.kill", postRoute("notebooks/{notebook}/kill", user, plainCall(n.kill))),
		auditedRoute("task.priority", postRoute("notebooks/{notebook}/set_priority", user, unaryCall(n.setPriority))),
	}
}

func (n *notebookCalls) launch(c *call, in *apiv1.LaunchNotebookRequest) (*apiv1.LaunchNotebookResponse, error) {
	order := &apiv1.LaunchCommandRequest{
		Config: in.GetConfig(), TemplateName: in.GetTemplateName(), Files: in.GetFiles(), WorkspaceId: in.GetWorkspaceId(),
	}
	if in.GetPreview() {
		shown, err := n.cfg.Tasks.PreviewKind(c.Context(), lifecycle.Notebook, c.user, order)
		return &apiv1.LaunchNotebookResponse{Notebook: &apiv1.Notebook{}, Config: shown.GetConfig()}, err
	}
	made, err := n.cfg.Tasks.LaunchKind(c.Context(), lifecycle.Notebook, c.user, order, c.intake.contents)
	if err != nil {
		return nil, err
	}
	shown, err := n.withTicket(c, made.GetCommand())
	return &apiv1.LaunchNotebookResponse{Notebook: shown, Config: made.GetConfig(), Warnings: made.GetWarnings()}, err
}

func (n *notebookCalls) notebooks(c *call) (*apiv1.GetNotebooksResponse, error) {
	list, part, err := listKind[apiv1.Notebook](n.shared, c, lifecycle.Notebook)
	for _, one := range list {
		one.ServiceAddress = servicesPath + one.GetId() + "/"
	}
	return &apiv1.GetNotebooksResponse{Notebooks: list, Pagination: part}, err
}

func (n *notebookCalls) notebook(c *call) (*apiv1.GetNotebookResponse, error) {
	found, err := n.cfg.Tasks.OfKind(c.Context(), lifecycle.Notebook, c.PathValue("notebook"))
	if err != nil {
		return nil, err
	}
	shown, err := n.withTicket(c, found.GetCommand())
	return &apiv1.GetNotebookResponse{Notebook: shown, Config: c.commandFor(found).GetConfig()}, err
}

// withTicket returns a notebook with its address, which contains a ticket for those who may visit it.
// Programs in tasks get none: what reads a task's environment must not enter others.
func (n *notebookCalls) withTicket(c *call, task *apiv1.Command) (out *apiv1.Notebook, err error) {
	out = asKind[apiv1.Notebook](task)
	out.ServiceAddress = servicesPath + out.GetId() + "/"
	mayVisit := c.user.GetAdmin() || c.user.GetId() == out.GetUserId()
	if mayVisit && c.inTask == "" && n.cfg.Services != nil {
		out.ServiceAddress, err = n.cfg.Services.Address(c.token, out.GetId())
	}
	return out, err
}

func (n *notebookCalls) kill(c *call) (*apiv1.KillNotebookResponse, error) {
	killed, err := killKind[apiv1.Notebook](n.shared, c, lifecycle.Notebook, c.PathValue("notebook"))
	return &apiv1.KillNotebookResponse{Notebook: killed}, err
}

func (n *notebookCalls) setPriority(c *call, in *apiv1.SetNotebookPriorityRequest) (*apiv1.SetNotebookPriorityResponse, error) {
	changed, err := setKindPriority[apiv1.Notebook](n.shared, c, lifecycle.Notebook, c.PathValue("notebook"), in.GetPriority())
	return &apiv1.SetNotebookPriorityResponse{Notebook: changed}, err
}
