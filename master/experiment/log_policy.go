package experiment

import (
	"context"

	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/master/experiment/change"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/task"
)

// What a policy does beside being shown.
const (
	cancelRetries container.PolicyAction = "cancel_retries"
	excludeNode   container.PolicyAction = "exclude_node"
)

// LogPolicies implements task.LogWatcher.
func (r *runs) LogPolicies(_ context.Context, id rm.TaskID) ([]container.LogPolicy, error) {
	e, err := r.ofTask(id)
	if err != nil {
		return nil, nil //nolint:nilerr // the experiment was deleted
	}
	var list []container.LogPolicy
	e.readOpen(func(x *change.Experiment) { list = x.Config.LogPolicies })
	return list, nil
}

// LogMatched implements task.LogWatcher.
func (r *runs) LogMatched(ctx context.Context, m task.LogMatch) error {
	e, err := r.ofTask(m.Task)
	if err != nil {
		return nil //nolint:nilerr // the experiment was deleted
	}
	match := record.Match{Policy: m.Policy.Name, Run: m.Run, NoRetry: m.Policy.Action == cancelRetries}
	if m.Policy.Action == excludeNode {
		match.Excluded = []string{string(m.Agent)}
	}
	return r.submit(ctx, e, &job{do: func(_ context.Context, _ *store.Tx, d *change.Draft) error {
		if t, found := d.TrialOfTask(string(m.Task)); found {
			d.Runs().Match(t.ID, match)
		}
		return nil
	}})
}
