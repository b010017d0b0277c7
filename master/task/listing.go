package task

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
)

// CommandOrder is the sort key of commands; equal ones are in the order of submission.
type CommandOrder string

// Sort keys.
const (
	BySubmission CommandOrder = "submission"
	ByID         CommandOrder = "id"
	ByName       CommandOrder = "name"
	ByPool       CommandOrder = "pool"
	ByUsername   CommandOrder = "username"
	ByWorkspace  CommandOrder = "workspace"
)

// CommandQuery selects a part of the listed commands.
type CommandQuery struct {
	// Kind is empty for commands.
	Kind lifecycle.Kind
	// Usernames and UserIDs select the commands of the users in either list; both empty selects all.
	Usernames []string
	UserIDs   []int32
	// Workspace selects a workspace; 0 selects all.
	Workspace  int32
	Order      CommandOrder
	Descending bool
	// Cut returns the range to select of a number of commands.
	Cut func(total int) (from, to int)
}

// shownTogether is the number of commands that are read from the store at once.
const shownTogether = 500

// Commands returns a part of the listed commands; ended ones are listed for the configured time. Only
// the part is read.
func (v *views) Commands(ctx context.Context, q CommandQuery) ([]*apiv1.Command, error) {
	all, err := store.TaskGroups(ctx, v.cfg.Store)
	if err != nil {
		return nil, err
	}
	chosen := chooseGroups(all, q)
	from, to := q.Cut(countGroups(chosen))
	var ids []string
	for _, bucket := range bucketGroups(chosen, q.Order, q.Descending) {
		n := countGroups(bucket)
		if from < n && to > 0 {
			part, err := store.TaskIDs(ctx, v.cfg.Store, store.TaskPage{
				Groups: bucket, All: all, Order: rowOrder(q.Order), Descending: q.Descending, Offset: max(from, 0), Limit: min(to, n) - max(from, 0),
			})
			if err != nil {
				return nil, err
			}
			ids = append(ids, part...)
		}
		from, to = from-n, to-n
	}
	out := make([]*apiv1.Command, 0, len(ids))
	for some := range slices.Chunk(ids, shownTogether) {
		if out, err = v.appendCommands(ctx, out, some); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// CountCommands returns the number of listed commands.
func (v *views) CountCommands(ctx context.Context) (int, error) {
	all, err := store.TaskGroups(ctx, v.cfg.Store)
	return countGroups(all), err
}

// appendCommands appends commands from memory or from the store. It skips commands that are no longer
// listed.
func (v *views) appendCommands(ctx context.Context, out []*apiv1.Command, ids []string) ([]*apiv1.Command, error) {
	shown := make(map[string]snapshot, len(ids))
	var ended []string
	for _, id := range ids {
		if e, found := v.reg.findTask(rm.TaskID(id)); found {
			shown[id] = e.latestSnapshot()
		} else {
			ended = append(ended, id)
		}
	}
	list, err := readEnded(ctx, v.cfg.Store, ended)
	if err != nil {
		return nil, err
	}
	for _, s := range list {
		shown[string(s.task.ID)] = s
	}
	for _, id := range ids {
		if s, found := shown[id]; found {
			out = append(out, v.showCommand(s))
		}
	}
	return out, nil
}

// selectsKind reports whether the tasks of a group have the kind of a query.
func (q CommandQuery) selectsKind(ofGroup string) bool { return ofGroup == groupKind(q.Kind) }

// groupKind returns a kind as store.TaskGroup has it.
func groupKind(k lifecycle.Kind) string {
	if k == lifecycle.Command {
		return ""
	}
	return string(k)
}

func countGroups(groups []store.TaskGroup) int {
	n := 0
	for _, g := range groups {
		n += g.Tasks
	}
	return n
}

// chooseGroups returns the groups whose commands a query selects.
func chooseGroups(all []store.TaskGroup, q CommandQuery) []store.TaskGroup {
	return slices.DeleteFunc(slices.Clone(all), func(g store.TaskGroup) bool {
		users := len(q.Usernames)+len(q.UserIDs) > 0
		wanted := slices.Contains(q.Usernames, g.Username) || slices.Contains(q.UserIDs, g.UserID)
		return g.Tasks == 0 || users && !wanted || !q.selectsKind(g.Kind) || q.Workspace != 0 && g.Workspace != q.Workspace
	})
}

// bucketGroups sorts groups by properties that all commands of a group share. The commands of one bucket
// are sorted by their rows.
func bucketGroups(groups []store.TaskGroup, order CommandOrder, descending bool) [][]store.TaskGroup {
	var compare func(a, b store.TaskGroup) int
	switch order {
	case ByUsername:
		compare = func(a, b store.TaskGroup) int { return strings.Compare(a.Username, b.Username) }
	case ByWorkspace:
		compare = func(a, b store.TaskGroup) int { return cmp.Compare(a.Workspace, b.Workspace) }
	default:
		return [][]store.TaskGroup{groups}
	}
	slices.SortFunc(groups, compare)
	var out [][]store.TaskGroup
	for len(groups) > 0 {
		n := 1
		for n < len(groups) && compare(groups[n], groups[0]) == 0 {
			n++
		}
		out, groups = append(out, groups[:n]), groups[n:]
	}
	if descending {
		slices.Reverse(out)
	}
	return out
}

func rowOrder(o CommandOrder) store.TaskOrder {
	switch o {
	case ByID:
		return store.ByTaskID
	case ByName:
		return store.ByTaskName
	case ByPool:
		return store.ByTaskPool
	case BySubmission, ByUsername, ByWorkspace: // the latter two are properties of groups
	}
	return store.BySubmission
}

// listTask lists a new command.
func listTask(tx *store.Tx, t lifecycle.Task) error {
	if kindOf(t.Kind).owned {
		return nil
	}
	_, err := store.AddTaskRow(tx, rowOf(t))
	return err
}

func rowOf(t lifecycle.Task) store.TaskRow {
	return store.TaskRow{
		ID: string(t.ID), UserID: t.UserID, Workspace: t.Workspace, Username: t.Username, Name: t.Name, Pool: t.Pool, Kind: groupKind(t.Kind), Submitted: t.Submitted.UnixMicro(),
	}
}

// carriedOver is the time of carryOver.
type carriedOver struct {
	At time.Time `json:"at"`
}

const (
	// carriedTogether is the number of tasks of an earlier version that are listed in one transaction.
	carriedTogether = 1000
	// lastEnded is the number of ended tasks that are loaded because an earlier version may have been
	// killed before it copied their last lines. It exceeds the number of tasks that end at once.
	lastEnded = 256
)

// carryOver lists the tasks that an earlier version has stored. It may be interrupted and repeated.
func (rec *records) carryOver(ctx context.Context) error {
	const key = "commands"
	if _, done, err := toDocs().carried.Get(ctx, rec.cfg.Store, key); err != nil || done {
		return err
	}
	last, err := toDocs().tasks.Latest(ctx, rec.cfg.Store, lastEnded)
	if err != nil {
		return err
	}
	for after, more := "", true; more; {
		list, err := toDocs().tasks.Behind(ctx, rec.cfg.Store, after, time.Time{}, carriedTogether)
		if err != nil {
			return err
		}
		if err := rec.cfg.Store.Write(ctx, func(tx *store.Tx) error { return listEarlier(tx, list) }); err != nil {
			return err
		}
		if more = len(list) == carriedTogether; more {
			after = list[len(list)-1].ID
			rec.cfg.Log.Info("listed tasks of an earlier version", "last", after)
		}
	}
	return rec.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		for _, d := range last {
			if err := errors.Join(toDocs().tasks.SetTime(tx, d.ID, time.Time{}), store.EndTaskRow(tx, d.ID, 0)); err != nil {
				return err
			}
		}
		return toDocs().carried.Put(tx, key, "", time.Time{}, carriedOver{rec.cfg.Now().UTC()})
	})
}

func listEarlier(tx *store.Tx, list []store.Doc[lifecycle.Task]) error {
	for _, d := range list {
		if kindOf(d.Value.Kind).owned {
			continue
		}
		row := rowOf(d.Value)
		if !d.At.IsZero() {
			row.Ended = d.At.UnixMicro()
		}
		if _, err := store.AddTaskRow(tx, row); err != nil {
			return err
		}
	}
	return nil
}
