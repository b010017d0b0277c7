package server

import (
	"context"

	"github.com/det-deploy/det-deploy/excerpt"
	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// shipLogs takes lines of one task, from the task itself or from its owner.
func (s *Server) shipLogs(c *call, in *apiv1.PostTaskLogsRequest) (*apiv1.PostTaskLogsResponse, error) {
	lines := in.GetLogs()
	if len(lines) == 0 {
		return nil, status.New(status.InvalidArgument, "logs: must not be empty")
	}
	task := lines[0].GetTaskId()
	for _, l := range lines {
		switch {
		case l.Id != nil:
			return nil, status.New(status.InvalidArgument, "logs: id must not be set; the master numbers lines itself")
		case l.GetTaskId() == "" || l.GetTaskId() != task:
			return nil, status.New(status.InvalidArgument, "logs: all lines must be of one task ('%s', '%s')", excerpt.Of(task), excerpt.Of(l.GetTaskId()))
		}
	}
	if err := c.ownTask(task); err != nil {
		return nil, err
	}
	return &apiv1.PostTaskLogsResponse{}, s.cfg.Logs.ShipTaskLogs(c.Context(), c.user, c.allocation, in)
}

func (c *call) logQuery() LogQuery {
	q := LogQuery{
		Task: c.PathValue("task"), Limit: c.number("limit"), Descending: c.descending(), Follow: c.is("follow"),
		AllocationIDs: c.all("allocationIds"), AgentIDs: c.all("agentIds"), ContainerIDs: c.all("containerIds"),
		RankIDs: c.numbers("rankIds"), Sources: c.all("sources"), Stdtypes: c.all("stdtypes"),
		Before: c.time("timestampBefore"), After: c.time("timestampAfter"), From: c.behind("afterId"),
	}
	for _, name := range c.all("levels") {
		level, found := apiv1.LogLevel_value[name]
		if !found {
			c.wrong("levels", "names like LOG_LEVEL_INFO")
		}
		q.Levels = append(q.Levels, apiv1.LogLevel(level))
	}
	if c.text("searchText") != "" {
		c.wrong("searchText", "left out, because searching in logs is not built")
	}
	if q.Limit < 0 {
		c.wrong("limit", "0 or more")
	}
	return q
}

func taskLogs(ctx context.Context, s *Server, c *call, send func(*apiv1.TaskLogsResponse) error) error {
	q := c.logQuery()
	if c.bad != nil {
		return c.bad
	}
	if q.Follow && (q.Limit > 0 || q.Descending) {
		return status.New(status.InvalidArgument, "follow excludes limit and ORDER_BY_DESC: what is followed has no end yet")
	}
	if err := s.readsLog(ctx, c, q.Task); err != nil {
		return err
	}
	return s.cfg.Logs.TaskLogs(ctx, q, send)
}

func taskLogFields(ctx context.Context, s *Server, c *call, send func(*apiv1.TaskLogsFieldsResponse) error) error {
	follow, task := c.is("follow"), c.PathValue("task")
	if c.bad != nil {
		return c.bad
	}
	if err := s.readsLog(ctx, c, task); err != nil {
		return err
	}
	return s.cfg.Logs.TaskLogFields(ctx, task, follow, send)
}
