package server

import (
	"fmt"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func (s *Server) launch(c *call, in *apiv1.LaunchCommandRequest) (*apiv1.LaunchCommandResponse, error) {
	if id := in.GetWorkspaceId(); id != 0 && id != 1 {
		return nil, status.New(status.NotFound, "workspace '%d' not found", id)
	}
	return s.cfg.Tasks.Launch(c.Context(), c.user, in, c.contents)
}

func byStart(a, b *apiv1.Command) int {
	return a.GetStartTime().AsTime().Compare(b.GetStartTime().AsTime())
}

var commandOrder = map[string]func(a, b *apiv1.Command) int{
	"":                      func(a, b *apiv1.Command) int { return 0 },
	"SORT_BY_ID":            func(a, b *apiv1.Command) int { return strings.Compare(a.GetId(), b.GetId()) },
	"SORT_BY_DESCRIPTION":   func(a, b *apiv1.Command) int { return strings.Compare(a.GetDescription(), b.GetDescription()) },
	"SORT_BY_START_TIME":    byStart,
	"SORT_BY_WORKSPACE_ID":  func(a, b *apiv1.Command) int { return int(a.GetWorkspaceId() - b.GetWorkspaceId()) },
	"SORT_BY_USERNAME":      func(a, b *apiv1.Command) int { return strings.Compare(a.GetUsername(), b.GetUsername()) },
	"SORT_BY_RESOURCE_POOL": func(a, b *apiv1.Command) int { return strings.Compare(a.GetResourcePool(), b.GetResourcePool()) },
}

func (s *Server) commands(c *call) (*apiv1.GetCommandsResponse, error) {
	names, ids, workspace := c.all("users"), c.numbers("userIds"), int32(c.number("workspaceId"))
	list := slices.DeleteFunc(slices.Clone(s.cfg.Tasks.Commands()), func(m *apiv1.Command) bool {
		byName, byID := slices.Contains(names, m.GetUsername()), slices.Contains(ids, m.GetUserId())
		return (len(names)+len(ids) > 0 && !byName && !byID) || (workspace != 0 && m.GetWorkspaceId() != workspace)
	})
	sortList(c, list, commandOrder)
	part, p := page(c, list)
	return &apiv1.GetCommandsResponse{Commands: part, Pagination: p}, c.bad
}

func (s *Server) command(c *call) (*apiv1.GetCommandResponse, error) {
	out, err := s.cfg.Tasks.Command(c.PathValue("command"))
	if err != nil {
		return nil, err
	}
	return c.commandFor(out), nil
}

func (s *Server) killCommand(c *call) (*apiv1.KillCommandResponse, error) {
	c.did(c.PathValue("command"), s.ownerOf(c, c.PathValue("command")))
	return s.cfg.Tasks.Kill(c.Context(), c.user, c.PathValue("command"))
}

func (s *Server) setCommandPriority(c *call, in *apiv1.SetCommandPriorityRequest) (*apiv1.SetCommandPriorityResponse, error) {
	p := int(in.GetPriority())
	c.did(c.PathValue("command"), s.ownerOf(c, c.PathValue("command")), fmt.Sprintf("priority=%d", p))
	if p < 1 || p > 99 {
		return nil, status.New(status.InvalidArgument, "priority: must be between 1 and 99 (%d)", p)
	}
	in.CommandId = c.PathValue("command")
	return s.cfg.Tasks.SetPriority(c.Context(), c.user, in)
}

func (s *Server) tasks(*call) (*apiv1.GetTasksResponse, error) {
	return &apiv1.GetTasksResponse{AllocationIdToSummary: s.cfg.Tasks.Summaries()}, nil
}

func (s *Server) task(c *call) (*apiv1.GetTaskResponse, error) {
	out, err := s.cfg.Tasks.Task(c.Context(), c.PathValue("task"))
	if err != nil {
		return nil, err
	}
	return s.taskFor(c, out)
}
