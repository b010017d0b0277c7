package master

import (
	"context"
	"strconv"

	"google.golang.org/protobuf/types/known/timestamppb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/log"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/server"
	"github.com/det-deploy/det-deploy/master/task"
)

// ShipTaskLogs implements server.TaskLogs.
func (f taskAPI) ShipTaskLogs(ctx context.Context, by *apiv1.User, allocation string, r *apiv1.PostTaskLogsRequest) error {
	return f.Ship(ctx, task.Caller{User: by, Allocation: rm.AllocationID(allocation)}, r)
}

// TaskLogs implements server.TaskLogs.
func (f taskAPI) TaskLogs(ctx context.Context, q server.LogQuery, send func(*apiv1.TaskLogsResponse) error) error {
	entries, err := f.Log(ctx, filterOf(q), q.Follow)
	if err != nil {
		return err
	}
	for e, err := range entries {
		if err != nil {
			return err
		}
		if err := send(shown(e)); err != nil {
			return err
		}
	}
	return nil
}

func filterOf(q server.LogQuery) log.Filter {
	f := log.Filter{
		Task: q.Task, Allocations: q.AllocationIDs, Agents: q.AgentIDs, Containers: q.ContainerIDs,
		Sources: q.Sources, Stdtypes: q.Stdtypes, Before: q.Before, After: q.After, From: q.From, Limit: q.Limit,
	}
	if q.Descending {
		f.Order = log.Newest
	}
	for _, r := range q.RankIDs {
		f.Ranks = append(f.Ranks, int(r))
	}
	for _, l := range q.Levels {
		level, _ := log.ParseLevel(l.String()) // every name of the enum is one
		f.Levels = append(f.Levels, level)
	}
	return f
}

// shown is a line as clients are sent it.
func shown(e log.Entry) *apiv1.TaskLogsResponse {
	r := &apiv1.TaskLogsResponse{
		Id: strconv.FormatInt(e.ID, 10), Timestamp: timestamppb.New(e.At), Message: e.Message(),
		Level: apiv1.LogLevel(apiv1.LogLevel_value["LOG_LEVEL_"+string(e.Level)]), TaskId: e.Task,
		AllocationId: some(e.Allocation), AgentId: some(e.Agent), ContainerId: some(e.Container),
		Log: e.Text + "\n", Source: some(e.Source), Stdtype: some(e.Stdtype),
	}
	if e.Rank != nil {
		rank := int32(*e.Rank)
		r.RankId = &rank
	}
	return r
}

func some(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
