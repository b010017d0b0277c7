package server

import (
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
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
	made, err := s.cfg.Tasks.LaunchKind(c.Context(), lifecycle.Shell, c.user, in, c.intake.contents)
	if err != nil {
		return nil, err
	}
	shown, err := s.cfg.Tasks.Shell(c.Context(), c.user, made.GetCommand().GetId())
	out := &apiv1.LaunchShellResponse{Shell: shown.GetShell(), Config: made.GetConfig(), Warnings: made.GetWarnings()}
	return withoutKeyInTask(c, out), err
}

func (s *shellCalls) shells(c *call) (*apiv1.GetShellsResponse, error) {
	list, part, err := listKind[apiv1.Shell](s.shared, c, lifecycle.Shell)
	return &apiv1.GetShellsResponse{Shells: list, Pagination: part}, err
}

func (s *shellCalls) shell(c *call) (*apiv1.GetShellResponse, error) {
	out, err := s.cfg.Tasks.Shell(c.Context(), c.user, c.PathValue("shell"))
	if err != nil {
		return nil, err
	}
	if !c.owns(out.GetShell().GetUserId()) {
		out.Config = shownToAll(out.GetConfig())
	}
	out.HostKey = s.cfg.ShellHostKey
	return withoutKeyInTask(c, out), nil
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
	killed, err := killKind[apiv1.Shell](s.shared, c, lifecycle.Shell, c.PathValue("shell"))
	return &apiv1.KillShellResponse{Shell: killed}, err
}

func (s *shellCalls) setPriority(c *call, in *apiv1.SetShellPriorityRequest) (*apiv1.SetShellPriorityResponse, error) {
	changed, err := setKindPriority[apiv1.Shell](s.shared, c, lifecycle.Shell, c.PathValue("shell"), in.GetPriority())
	return &apiv1.SetShellPriorityResponse{Shell: changed}, err
}
