package task

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
)

// HistoryQuery selects commands, listed or not. A filter without values selects all; a command has one of the
// Statuses, UserIDs and Pools, and all of the Labels.
type HistoryQuery struct {
	Statuses []apiv1.Status
	UserIDs  []int32
	Pools    []string
	Labels   map[string]string
	// Since is the earliest end. Commands that have not ended are always selected.
	Since time.Time
	// After is the Next of the previous page.
	After string
	Limit int
}

// History returns a page of commands: first those that have not ended, the newest first, then the others,
// the latest end first. Its error has the code InvalidArgument for an invalid After.
func (v *views) History(ctx context.Context, q HistoryQuery) (*apiv1.ListTasksResponse, error) {
	at, err := readPosition(q.After)
	if err != nil {
		return nil, err
	}
	out := &apiv1.ListTasksResponse{}
	for _, s := range v.openPage(q, at) {
		out.Tasks = append(out.Tasks, v.showCommand(s))
		out.Next = position{micros: s.task.Submitted.UnixMicro(), id: string(s.task.ID)}.String()
	}
	if len(out.GetTasks()) == q.Limit {
		return out, nil
	}
	keys, err := v.endedPage(ctx, q, at, q.Limit-len(out.GetTasks()))
	if err != nil {
		return nil, err
	}
	out.Next = ""
	if len(out.GetTasks())+len(keys) == q.Limit {
		last := keys[len(keys)-1]
		out.Next = position{ended: true, micros: last.Ended, id: last.ID}.String()
	}
	out.Tasks, err = v.appendKeys(ctx, out.GetTasks(), keys)
	return out, err
}

// openPage returns the selected commands that have not ended.
func (v *views) openPage(q HistoryQuery, after position) []snapshot {
	if after.ended || len(q.Statuses) > 0 && !anyIn(q.Statuses, apiv1.OpenStatuses()) {
		return nil
	}
	entries := v.reg.listWhere(func(s *snapshot) bool { return !s.hasEnded() && q.selects(s) && after.precedes(s) })
	list := make([]snapshot, 0, len(entries))
	for _, e := range entries {
		list = append(list, e.latestSnapshot())
	}
	slices.SortFunc(list, func(a, b snapshot) int {
		return cmp.Or(b.task.Submitted.Compare(a.task.Submitted), strings.Compare(string(b.task.ID), string(a.task.ID)))
	})
	return list[:min(len(list), q.Limit)]
}

// selects reports whether a command in memory is selected.
func (q HistoryQuery) selects(s *snapshot) bool {
	t := &s.task
	for key, value := range q.Labels {
		if have, found := t.Labels[key]; !found || have != value {
			return false
		}
	}
	return !kindOf(t.Kind).owned &&
		(len(q.Statuses) == 0 || slices.Contains(q.Statuses, s.status())) &&
		(len(q.UserIDs) == 0 || slices.Contains(q.UserIDs, t.UserID)) &&
		(len(q.Pools) == 0 || slices.Contains(q.Pools, t.Pool))
}

// endedPage returns the keys of selected commands that have ended.
func (v *views) endedPage(ctx context.Context, q HistoryQuery, after position, limit int) ([]store.TaskEndKey, error) {
	ends := store.TaskEndQuery{UserIDs: q.UserIDs, Pools: q.Pools, Labels: labelTexts(q.Labels), Since: q.Since.UnixMicro(), Limit: limit}
	for _, s := range q.Statuses {
		if slices.Contains(apiv1.EndStatuses(), s) {
			ends.States = append(ends.States, string(s))
		}
	}
	if len(q.Statuses) > 0 && len(ends.States) == 0 {
		return nil, nil
	}
	if after.ended {
		ends.Before = store.TaskEndKey{Ended: after.micros, ID: after.id}
	}
	return store.TaskEnds(ctx, v.cfg.Store, ends)
}

// appendKeys appends ended commands, listed or not. It skips those that were deleted meanwhile.
func (v *views) appendKeys(ctx context.Context, out []*apiv1.Command, keys []store.TaskEndKey) ([]*apiv1.Command, error) {
	ids := make([]string, 0, len(keys))
	for _, k := range keys {
		ids = append(ids, k.ID)
	}
	list, err := readEnded(ctx, v.cfg.Store, ids)
	if err != nil {
		return nil, err
	}
	found := make(map[string]snapshot, len(keys))
	for _, s := range list {
		found[string(s.task.ID)] = s
	}
	past, err := toDocs().past.ByIDs(ctx, v.cfg.Store, slices.DeleteFunc(ids, func(id string) bool { return found[id].task.ID != "" }))
	if err != nil {
		return nil, err
	}
	for _, d := range past {
		if d.Value.Last != nil {
			found[d.ID] = pastSnapshot(d.Value)
		}
	}
	for _, k := range keys {
		if s, ok := found[k.ID]; ok {
			out = append(out, v.showCommand(s))
		}
	}
	return out, nil
}

// position is the place of a command in the history: among those that have ended or the others, by the time
// of its end or of its submission.
type position struct {
	ended  bool
	micros int64
	id     string
}

// String returns the position as an opaque text.
func (p position) String() string {
	kind := "o"
	if p.ended {
		kind = "e"
	}
	return kind + strconv.FormatInt(p.micros, 10) + "." + p.id
}

// readPosition is the inverse of String; the position before all commands is empty.
func readPosition(text string) (p position, err error) {
	if text == "" {
		return p, nil
	}
	micros, id, found := strings.Cut(text[1:], ".")
	if p.micros, err = strconv.ParseInt(micros, 10, 64); err != nil || !found || !strings.Contains("oe", text[:1]) {
		return p, status.New(status.InvalidArgument, "after: must be the value of next in the previous page")
	}
	p.ended, p.id = text[0] == 'e', id
	return p, nil
}

// precedes reports whether a command that has not ended comes after the position.
func (p position) precedes(s *snapshot) bool {
	if p == (position{}) {
		return true
	}
	at := s.task.Submitted.UnixMicro()
	return at < p.micros || at == p.micros && s.task.ID < rm.TaskID(p.id)
}

func anyIn[T comparable](list, of []T) bool {
	return slices.ContainsFunc(list, func(v T) bool { return slices.Contains(of, v) })
}
