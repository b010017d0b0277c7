package task

import (
	"context"
	"slices"
	"strings"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/store"
)

// Named returns listed commands and arrays whose ID or name begins with text, and commands of the history
// whose ID does, at most limit of each. Without text these are the latest listed ones.
func (v *views) Named(ctx context.Context, text string, limit int) ([]*apiv1.Name, error) {
	ids, err := v.idsNamed(ctx, text, limit)
	if err != nil {
		return nil, err
	}
	commands, err := v.appendCommands(ctx, nil, ids)
	if err == nil && text != "" {
		commands, err = v.appendPast(ctx, commands, ids, text, limit)
	}
	if err != nil {
		return nil, err
	}
	arrays, err := v.arraysNamed(ctx, text, limit)
	if err != nil {
		return nil, err
	}
	var out []*apiv1.Name
	for _, c := range commands {
		out = append(out, &apiv1.Name{Id: c.GetId(), Name: c.GetDescription(), Username: c.GetUsername(), State: c.GetStatus()})
	}
	return append(out, arrays...), nil
}

// appendPast appends the commands of the history that are not listed any more and whose ID begins with text.
func (v *views) appendPast(ctx context.Context, out []*apiv1.Command, listed []string, text string, limit int) ([]*apiv1.Command, error) {
	ids, err := store.EndedTaskIDsBeginning(ctx, v.cfg.Store, text, limit)
	if err != nil {
		return nil, err
	}
	var keys []store.TaskEndKey
	for _, id := range ids {
		if !slices.Contains(listed, id) {
			keys = append(keys, store.TaskEndKey{ID: id})
		}
	}
	return v.appendKeys(ctx, out, keys)
}

func (v *views) idsNamed(ctx context.Context, text string, limit int) ([]string, error) {
	if text == "" {
		all, err := store.TaskGroups(ctx, v.cfg.Store)
		if err != nil {
			return nil, err
		}
		return store.TaskIDs(ctx, v.cfg.Store, store.TaskPage{Groups: all, All: all, Order: store.BySubmission, Descending: true, Limit: limit})
	}
	ids, err := store.TaskIDsBeginning(ctx, v.cfg.Store, text, limit)
	if err != nil {
		return nil, err
	}
	named, err := store.TaskIDsNamed(ctx, v.cfg.Store, text, limit)
	for _, id := range named {
		if !strings.HasPrefix(id, text) {
			ids = append(ids, id)
		}
	}
	return ids, err
}

// arraysNamed returns arrays by the beginning of their ID; their name is that of their tasks.
func (v *views) arraysNamed(ctx context.Context, prefix string, limit int) ([]*apiv1.Name, error) {
	if prefix == "" { // the parent of all tasks without an array
		return nil, nil
	}
	ids, err := toDocs().tasks.ParentsBeginning(ctx, v.cfg.Store, prefix, limit)
	if err != nil {
		return nil, err
	}
	var out []*apiv1.Name
	for _, id := range ids {
		member, err := v.findArray(ctx, id)
		if err != nil {
			continue // its tasks are no longer listed
		}
		name, _, _ := strings.Cut(member.Name, " [")
		out = append(out, &apiv1.Name{Id: id, Name: name, Username: member.Username, State: "array"})
	}
	return out, nil
}
