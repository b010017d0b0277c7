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
)

// logCalls is the logs of tasks.
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

// shipLogs takes lines of one task, from the task itself or from its owner.
func (l *logCalls) shipLogs(c *call, in *apiv1.PostTaskLogsRequest) (*apiv1.PostTaskLogsResponse, error) {
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
	return &apiv1.PostTaskLogsResponse{}, l.cfg.Logs.Ship(c.Context(), c.user, in)
}

// logFilter is which lines of a task are wanted.
func (c *call) logFilter() log.Filter {
	f := log.Filter{
		Task: c.PathValue("task"), Limit: c.linesParam(),
		Allocations: c.allValues("allocationIds"), Agents: c.allValues("agentIds"), Containers: c.allValues("containerIds"),
		Sources: c.allValues("sources"), Stdtypes: c.allValues("stdtypes"),
		Before: c.timeParam("timestampBefore"), After: c.timeParam("timestampAfter"), From: c.afterParam("afterId"),
	}
	if c.isDescending() {
		f.Order = log.Newest
	}
	for _, rank := range c.numberParams("rankIds") {
		f.Ranks = append(f.Ranks, int(rank))
	}
	for _, name := range c.allValues("levels") {
		if _, found := apiv1.LogLevel_value[name]; !found {
			c.rejectParam("levels", "names like LOG_LEVEL_INFO")
			continue
		}
		level, _ := log.ParseLevel(name) // every name of the enum is one
		f.Levels = append(f.Levels, level)
	}
	f.Text = c.textSearch(c.textParam("searchText"), c.isSet("enableRegex"))
	return f
}

// longestSearch is in bytes.
const longestSearch = 4 << 10

// textSearch finds a text in lines, upper and lower case alike, or what a regular expression matches; nil is all.
func (c *call) textSearch(text string, expression bool) func(line string) bool {
	switch {
	case text == "":
		return nil
	case len(text) > longestSearch:
		c.rejectParam("searchText", fmt.Sprintf("at most %d bytes", longestSearch))
		return nil
	case !expression:
		text = regexp.QuoteMeta(text)
	}
	re, err := regexp.Compile("(?i)" + text)
	if err != nil {
		c.rejectParam("searchText", "a regular expression where enableRegex is set: "+err.Error())
		return nil
	}
	return re.MatchString
}

func (l *logCalls) taskLogs(ctx context.Context, c *call, send func(*apiv1.TaskLogsResponse) error) error {
	f, follow := c.logFilter(), c.isSet("follow")
	if c.bad != nil {
		return c.bad
	}
	if follow && (f.Limit > 0 || f.Order == log.Newest) {
		return status.New(status.InvalidArgument, "follow excludes limit and ORDER_BY_DESC: what is followed has no end yet")
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
	follow, task := c.isSet("follow"), c.PathValue("task")
	if c.bad != nil {
		return c.bad
	}
	if err := l.checkLogReader(ctx, c, task); err != nil {
		return err
	}
	return l.sendFields(ctx, task, follow, send)
}

// logEntries are the lines of a log; a refusal is the only item.
func (l *logCalls) logEntries(ctx context.Context, f log.Filter, follow bool) iter.Seq2[log.Entry, error] {
	entries, err := l.cfg.Logs.Log(ctx, f, follow)
	if err != nil {
		return func(yield func(log.Entry, error) bool) { yield(log.Entry{}, err) }
	}
	return entries
}

// showEntry is a line as clients are sent it.
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
	return r
}

// orNil is nil for no text.
func orNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
