package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// LogQuery selects lines of a task's log.
type LogQuery struct {
	// Follow reads until the task has ended and its last line is read.
	Follow bool
	// Tail selects the last lines, and Head the first; zero means all. Neither can be combined with
	// Follow.
	Tail, Head int
	// The filters. Each selects lines that match one of its values.
	Agents, Containers, Sources, Stdtypes []string
	Ranks                                 []int
	// Level selects lines of this level and above; unspecified selects all, including lines without
	// a level.
	Level apiv1.LogLevel
	// Since and Until select lines by time.
	Since, Until time.Time
	// Search selects lines that contain a text, in upper or lower case; with Regexp it is a regular expression.
	Search string
	Regexp bool
	// After and Before select the lines between those with these IDs; empty means no bound.
	After, Before string
}

// logs are the calls about logs of tasks, the master's log and the audit log.
type logs struct{ *transport }

// Logs reads the log of a task, oldest line first. After a broken connection, a followed log
// continues with the next line. The iterator ends with an error if the log could not be read to its
// end.
func (l logs) Logs(ctx context.Context, task string, q LogQuery) iter.Seq2[*apiv1.TaskLogsResponse, error] {
	k := call{
		op: "read the log of task " + task, method: http.MethodGet,
		path:  "/api/v1/tasks/" + url.PathEscape(task) + "/logs",
		query: q.values(),
	}
	s := &stream[*apiv1.TaskLogsResponse]{
		client: l.transport, call: k,
		fresh: func() *apiv1.TaskLogsResponse { return &apiv1.TaskLogsResponse{} },
		id:    (*apiv1.TaskLogsResponse).GetId,
		ended: func(ctx context.Context) (bool, error) {
			t, err := tasks(l).Task(ctx, task)
			return t.GetTask().GetEndTime() != nil, err
		},
	}
	lines := s.lines(ctx, q.Follow)
	if q.Tail > 0 {
		return reversed(lines)
	}
	return lines
}

// MasterLogs reads the master's own log, or the last lines of it.
func (l logs) MasterLogs(ctx context.Context, follow bool, tail int) iter.Seq2[*apiv1.MasterLogsResponse, error] {
	query := url.Values{"follow": {strconv.FormatBool(follow)}}
	if tail > 0 {
		query.Set("offset", strconv.Itoa(-tail))
	}
	k := call{op: "read the master's log", method: http.MethodGet, path: "/api/v1/master/logs", query: query}
	s := &stream[*apiv1.MasterLogsResponse]{
		client: l.transport, call: k,
		fresh: func() *apiv1.MasterLogsResponse { return &apiv1.MasterLogsResponse{} },
		id:    func(m *apiv1.MasterLogsResponse) string { return strconv.Itoa(int(m.GetLogEntry().GetId())) },
	}
	return s.lines(ctx, follow)
}

func (q LogQuery) values() url.Values {
	v := url.Values{
		"follow": {strconv.FormatBool(q.Follow)}, "agentIds": q.Agents, "containerIds": q.Containers,
		"sources": q.Sources, "stdtypes": q.Stdtypes,
	}
	for _, rank := range q.Ranks {
		v.Add("rankIds", strconv.Itoa(rank))
	}
	if q.Level != apiv1.LogLevel_LOG_LEVEL_UNSPECIFIED {
		v["levels"] = levelsFrom(q.Level)
	}
	for name, text := range map[string]string{"searchText": q.Search, "afterId": q.After, "beforeId": q.Before} {
		if text != "" {
			v.Set(name, text)
		}
	}
	if q.Regexp {
		v.Set("enableRegex", "true")
	}
	if q.Tail > 0 {
		v.Set("limit", strconv.Itoa(q.Tail))
		v.Set("orderBy", "ORDER_BY_DESC")
	}
	if q.Head > 0 {
		v.Set("limit", strconv.Itoa(q.Head))
	}
	if !q.Since.IsZero() {
		v.Set("timestampAfter", q.Since.UTC().Format(time.RFC3339Nano))
	}
	if !q.Until.IsZero() {
		v.Set("timestampBefore", q.Until.UTC().Format(time.RFC3339Nano))
	}
	return v
}

// levelsFrom returns the names of a level and those above it.
func levelsFrom(level apiv1.LogLevel) []string {
	var out []string
	for ; apiv1.LogLevel_name[int32(level)] != ""; level++ {
		out = append(out, level.String())
	}
	return out
}

// reversed reverses a log that was read newest line first.
func reversed[T any](lines iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var all []T
		var zero T
		for line, err := range lines {
			if err != nil {
				yield(zero, err)
				return
			}
			all = append(all, line)
		}
		for i := len(all) - 1; i >= 0; i-- {
			if !yield(all[i], nil) {
				return
			}
		}
	}
}
