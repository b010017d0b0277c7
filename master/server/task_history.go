package server

import (
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/task"
)

const (
	// historyPage and mostHistory are the number of commands in a page of the history: the default and the
	// maximum.
	historyPage = 100
	mostHistory = 1000
)

// history lists commands, those that have ended as long as the store keeps them.
func (t *taskCalls) history(c *call) (*apiv1.ListTasksResponse, error) {
	q, err := t.readHistory(c)
	if err != nil {
		return nil, err
	}
	out, err := t.cfg.Tasks.History(c.Context(), q)
	if err != nil {
		return nil, err
	}
	return &apiv1.ListTasksResponse{Tasks: c.commandsFor(out.GetTasks()), Next: out.GetNext()}, nil
}

func (t *taskCalls) readHistory(c *call) (task.HistoryQuery, error) {
	params := c.query()
	q := task.HistoryQuery{
		Pools: params.All("pools"), Since: params.Time("since"), After: params.Text("after"), Limit: params.Number("limit"),
		UserIDs: params.Numbers("userIds"), Labels: map[string]string{},
	}
	if q.Limit <= 0 || q.Limit > mostHistory {
		q.Limit = historyPage
	}
	for _, s := range params.All("states") {
		if !slices.Contains(allStatuses(), apiv1.Status(s)) {
			params.Reject("states", "some of "+joinStatuses())
		}
		q.Statuses = append(q.Statuses, apiv1.Status(s))
	}
	for _, l := range params.All("labels") {
		key, value, found := strings.Cut(l, "=")
		if !found {
			params.Reject("labels", "of the form key=value")
		}
		q.Labels[key] = value
	}
	for _, name := range params.All("users") {
		u, err := t.cfg.Accounts.UserNamed(name)
		if err != nil {
			return q, err
		}
		q.UserIDs = append(q.UserIDs, u.GetId())
	}
	if max(len(q.Statuses), len(q.Labels), len(q.UserIDs), len(q.Pools)) > store.MostFilterValues {
		return q, status.New(status.InvalidArgument, "states, users, pools and labels: at most %d values of each are supported", store.MostFilterValues)
	}
	return q, params.Err()
}

func allStatuses() []apiv1.Status { return append(apiv1.OpenStatuses(), apiv1.EndStatuses()...) }

func joinStatuses() string {
	var names []string
	for _, s := range allStatuses() {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}
