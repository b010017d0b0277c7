package server

import (
	"context"
	"fmt"
	"iter"
	"regexp"
	"strconv"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/log"
	"github.com/det-deploy/det-deploy/master/server/query"
)

// logCalls serves the logs of tasks.
type logCalls struct{ *shared }

func (l *logCalls) routes() []route {
	if l.cfg.Tasks == nil || l.cfg.Logs == nil {
		return nil
	}
	return []route{
		sizedCall(postRoute("task/logs", either, unaryCall(l.shipLogs)), logsLimit),
		getRoute("tasks/{task}/logs", user, streamCall(l.shared, l.taskLogs)),
		getRoute("tasks/{task}/logs/fields", user, streamCall(l.shared, l.taskLogFields)),
	}
}

// shipLogs accepts log lines of a task from the task itself or its owner.
func (l *logCalls) shipLogs(c *call, in *apiv1.PostTaskLogsRequest) (*apiv1.PostTaskLogsResponse, error) {
	lines := in.GetLogs()
	if len(lines) == 0 {
		return nil, status.New(status.InvalidArgument, "logs: must not be empty")
	}
	task := lines[0].GetTaskId()
	for _, l := range lines {
		switch {
		case l.Id != nil:
			return nil, status.New(status.InvalidArgument, "logs: id must not be set; the master assigns line IDs")
		case l.GetTaskId() == "" || l.GetTaskId() != task:
			return nil, status.New(status.InvalidArgument, "logs: all lines must belong to one task (got '%s' and '%s')", excerpt.Of(task), excerpt.Of(l.GetTaskId()))
		}
	}
	if err := c.ownTask(task); err != nil {
		return nil, err
	}
	return &apiv1.PostTaskLogsResponse{}, l.cfg.Logs.Ship(c.Context(), c.user, in)
}

// logFilter returns the filter for a task's log.
func (c *call) logFilter() log.Filter {
	params := c.query()
	f := log.Filter{
		Task: c.PathValue("task"), Limit: params.Lines(),
		Allocations: params.All("allocationIds"), Agents: params.All("agentIds"), Containers: params.All("containerIds"),
		Sources: params.All("sources"), Stdtypes: params.All("stdtypes"),
		Before: params.Time("timestampBefore"), After: params.Time("timestampAfter"), From: params.After("afterId"), To: params.LineID("beforeId"),
	}
	if params.Descending() {
		f.Order = log.Newest
	}
	if f.To == 0 && params.Text("beforeId") != "" {
		params.Reject("beforeId", "the ID of a line behind the first one")
	}
	for _, rank := range params.Numbers("rankIds") {
		f.Ranks = append(f.Ranks, int(rank))
	}
	for _, name := range params.All("levels") {
		if _, found := apiv1.LogLevel_value[name]; !found {
			params.Reject("levels", "names such as LOG_LEVEL_INFO")
			continue
		}
		level, _ := log.ParseLevel(name) // every name of the enum is valid
		f.Levels = append(f.Levels, level)
	}
	f.Text = textSearch(params)
	return f
}

// longestSearch is the maximum length of a search text in bytes.
const longestSearch = 4 << 10

// textSearch returns a case-insensitive predicate for the search text or regular expression, or nil if
// there is no search.
func textSearch(q *query.Values) func(line string) bool {
	text := q.Text("searchText")
	switch {
	case text == "":
		return nil
	case len(text) > longestSearch:
		q.Reject("searchText", fmt.Sprintf("at most %d bytes", longestSearch))
		return nil
	case !q.IsSet("enableRegex"):
		text = regexp.QuoteMeta(text)
	}
	re, err := regexp.Compile("(?i)" + text)
	if err != nil {
		q.Reject("searchText", "a valid regular expression if enableRegex is set: "+err.Error())
		return nil
	}
	return re.MatchString
}

func (l *logCalls) taskLogs(ctx context.Context, c *call, send func(*apiv1.TaskLogsResponse) error) error {
	params := c.query()
	f, follow := c.logFilter(), params.IsSet("follow")
	if params.Err() != nil {
		return params.Err()
	}
	if follow && (f.Limit > 0 || f.Order == log.Newest) {
		return status.New(status.InvalidArgument, "follow cannot be combined with limit or ORDER_BY_DESC")
	}
	if err := l.checkLogReader(ctx, c, f.Task); err != nil {
		return err
	}
	for e, err := range l.logEntries(ctx, f, follow) {
		if err != nil {
			return err
		}
		if err := send(showEntry(e)); err != nil {
			return err
		}
	}
	return nil
}

func (l *logCalls) taskLogFields(ctx context.Context, c *call, send func(*apiv1.TaskLogsFieldsResponse) error) error {
	params := c.query()
	follow, task := params.IsSet("follow"), c.PathValue("task")
	if params.Err() != nil {
		return params.Err()
	}
	if err := l.checkLogReader(ctx, c, task); err != nil {
		return err
	}
	return l.sendFields(ctx, task, follow, send)
}

// logEntries returns the lines of a log. An error in opening the log is returned as the only item.
func (l *logCalls) logEntries(ctx context.Context, f log.Filter, follow bool) iter.Seq2[log.Entry, error] {
	entries, err := l.cfg.Logs.Log(ctx, f, follow)
	if err != nil {
		return func(yield func(log.Entry, error) bool) { yield(log.Entry{}, err) }
	}
	return entries
}

// showEntry converts a line to an API message.
func showEntry(e log.Entry) *apiv1.TaskLogsResponse {
	r := &apiv1.TaskLogsResponse{
		Id: strconv.FormatInt(e.ID, 10), Timestamp: timestamppb.New(e.At), Message: e.Message(),
		Level: apiv1.LogLevel(apiv1.LogLevel_value["LOG_LEVEL_"+string(e.Level)]), TaskId: e.Task,
		AllocationId: orNil(e.Allocation), AgentId: orNil(e.Agent), ContainerId: orNil(e.Container),
		Log: e.Text + "\n", Source: orNil(e.Source), Stdtype: orNil(e.Stdtype),
	}
	if e.Rank != nil {
		rank := int32(*e.Rank)
		r.RankId = &rank
	}
	if e.Partial {
		r.Partial = &e.Partial
	}
	return r
}

// orNil returns nil for an empty string.
func orNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
