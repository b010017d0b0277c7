package server

import (
	"fmt"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// shellCalls serves the calls about shells.
type shellCalls struct{ *shared }

func (s *shellCalls) routes() []route {
	if s.cfg.Tasks == nil {
		return nil
	}
	return []route{
		sizedCall(postRoute("shells", user, unaryCall(s.launch)), large),
		getRoute("shells", user, plainCall(s.shells)),
		getRoute("shells/{shell}", user, plainCall(s.shell)),
		auditedRoute("task.kill", postRoute("shells/{shell}/kill", user, plainCall(s.kill))),
		auditedRoute("task.priority", postRoute("shells/{shell}/set_priority", user, unaryCall(s.setPriority))),
	}
}

func (s *shellCalls) launch(c *call, in *apiv1.LaunchCommandRequest) (*apiv1.LaunchShellResponse, error) {
	out, err := s.cfg.Tasks.LaunchShell(c.Context(), c.user, in, c.intake.contents)
	return withoutKeyInTask(c, out), err
}

func (s *shellCalls) shells(c *call) (*apiv1.GetShellsResponse, error) {
	q, p, err := s.taskQuery(c)
	if err != nil {
		return nil, err
	}
	list, err := s.cfg.Tasks.Shells(c.Context(), q)
	return &apiv1.GetShellsResponse{Shells: list, Pagination: p.Pagination}, err
}

func (s *shellCalls) shell(c *call) (*apiv1.GetShellResponse, error) {
	out, err := s.cfg.Tasks.Shell(c.Context(), c.user, c.PathValue("shell"))
	return withoutKeyInTask(c, out), err
}

// withoutKeyInTask removes the key of a shell for programs in tasks: what reads a task's environment must not
// enter others.
func withoutKeyInTask[T interface{ GetShell() *apiv1.Shell }](c *call, out T) T {
	if shell := out.GetShell(); c.inTask != "" && shell != nil {
		shell.PrivateKey = ""
	}
	return out
}

func (s *shellCalls) kill(c *call) (*apiv1.KillShellResponse, error) {
	c.noteTarget(c.PathValue("shell"), s.ownerOf(c, c.PathValue("shell")))
	return s.cfg.Tasks.KillShell(c.Context(), c.user, c.PathValue("shell"))
}

func (s *shellCalls) setPriority(c *call, in *apiv1.SetShellPriorityRequest) (*apiv1.SetShellPriorityResponse, error) {
	c.noteTarget(c.PathValue("shell"), s.ownerOf(c, c.PathValue("shell")), fmt.Sprintf("priority=%d", in.GetPriority()))
	in.ShellId = c.PathValue("shell")
	return s.cfg.Tasks.SetShellPriority(c.Context(), c.user, in)
}
