package experiment

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/experiment/config"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
)

// overridden is an override with its result: the value of a setting, an error, or a line in the
// trial's log.
type overridden struct{ override, path, want, refused, logged string }

func overrides() []overridden {
	rows := []overridden{
		{override: "name: again", path: "name", want: "again"},
		{override: "description: d", path: "description", want: "d"},
		{override: "entrypoint: python3 other.py", path: "entrypoint", want: "python3 other.py"},
		{override: "labels: [a]", path: "labels", want: "[a]"},
		{override: "data: {a: 1}", path: "data.a", want: "1"},
		{override: "debug: true", path: "debug", want: "true"},
		{override: "workspace: Uncategorized", refused: "workspace and project must both be set"},
		{override: "{project: Uncategorized, workspace: Uncategorized}", path: "project", want: "Uncategorized"},
		{override: "{project: other, workspace: team}", refused: "workspace, project: it stays in its project"},
		{override: "hyperparameters: {lr: 0.2}", refused: "hyperparameters: the trial keeps its initial values"},
		{override: "hyperparameters: {lr: 0.1}", path: "hyperparameters.lr.val", want: "0.1"},
		{override: "searcher: {max_length: {batches: 7}}", path: "searcher.max_length", want: "map[batches:7]"},
		{override: "searcher: {name: random, max_trials: 2}", refused: "searcher.name: the searcher must stay single"},
		{override: "searcher: {metric: accuracy}", refused: "searcher.metric: earlier validations"},
		{override: "searcher: {smaller_is_better: false}", refused: "searcher.metric: earlier validations"},
		{override: "searcher: {source_trial_id: 1}", refused: "searcher.source_trial_id: the trial continues from its own checkpoint"},
		{override: "searcher: {source_checkpoint_uuid: x}", refused: "searcher.source_trial_id: the trial continues from its own checkpoint"},
		{override: "reproducibility: {experiment_seed: 5}", refused: "reproducibility.experiment_seed: the trial keeps its seed"},
		{override: "resources: {priority: 7}", path: "resources.priority", want: "7"},
		{override: "resources: {max_slots: 3}", path: "resources.max_slots", want: "3"},
		{override: "resources: {shm_size: 4096}", path: "resources.shm_size", want: "4096"},
		{override: "resources: {resource_pool: unknown}", refused: "unknown"},
		{override: "resources: {weight: 2}", path: "resources.weight", want: "2", logged: "resources.weight: has no effect"},
		{override: "environment: {force_pull_image: true}", path: "environment.force_pull_image", want: "true"},
		{override: "bind_mounts: [{host_path: /data, container_path: /d}]", refused: "bind_mounts[0].host_path: /data is not among the host paths that tasks may mount"},
		{override: "max_restarts: 0", path: "max_restarts", want: "0"},
		{override: "preemption_timeout: 60", path: "preemption_timeout", want: "60"},
		{override: "log_policies: [{name: n, pattern: x}]", path: "log_policies", want: "pattern:x"},
		{override: "retention_policy: {log_retention_days: 3}", path: "retention_policy.log_retention_days", want: "3"},
		{override: "checkpoint_storage: {save_trial_best: 4}", path: "checkpoint_storage.save_trial_best", want: "4"},
		{override: "checkpoint_policy: all", path: "checkpoint_policy", want: "all"},
		{override: "min_checkpoint_period: {batches: 3}", path: "min_checkpoint_period", want: "map[batches:3]"},
		{override: "min_validation_period: {batches: 3}", path: "min_validation_period", want: "map[batches:3]"},
		{override: "perform_initial_validation: true", path: "perform_initial_validation", want: "true"},
		{override: "records_per_epoch: 5", path: "records_per_epoch", want: "5"},
		{override: "scheduling_unit: 5", path: "scheduling_unit", want: "5"},
		{override: "optimizations: {aggregation_frequency: 2}", path: "optimizations.aggregation_frequency", want: "2"},
		{override: "profiling: {enabled: true}", path: "profiling.enabled", want: "true"},
	}
	for _, key := range []string{"tensorboard_storage", "data_layer", "integrations", "security", "internal", "pbs", "slurm"} {
		rows = append(rows, overridden{override: key + ": {a: 1}", logged: key + ": has no effect"})
	}
	return rows
}

// Each key that `det experiment continue --config` is given takes effect, is refused, or is named in
// the trial's log.
func TestEachKeyOfAnOverrideIsHeeded(t *testing.T) {
	t.Parallel()
	for _, row := range overrides() {
		t.Run(row.override, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create(single)
			w.finish(1, 0)
			w.wantState(1, lifecycle.Completed)
			team, err := w.spots.Create(t.Context(), ann(), &apiv1.PostWorkspaceRequest{Name: "team"})
			if err == nil {
				_, err = w.spots.CreateProject(t.Context(), ann(), &apiv1.PostProjectRequest{Name: "other", WorkspaceId: team.GetId()})
			}
			if err != nil {
				t.Fatal(err)
			}
			_, err = w.x.Continue(t.Context(), Continuation{By: ann(), ID: 1, Override: row.override})
			if row.refused != "" {
				if err == nil || !strings.Contains(err.Error(), row.refused) {
					t.Errorf("got %v, want %q", err, row.refused)
				}
				w.wantState(1, lifecycle.Completed)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			s, err := w.x.Settings(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			if got := settingAt(s.Config, row.path); !strings.Contains(got, row.want) {
				t.Errorf("got %s %q, want %q", row.path, got, row.want)
			}
			w.reconcile()
			if got := w.lines(1); !strings.Contains(got, row.logged) {
				t.Errorf("got the log %q, want %q", got, row.logged)
			}
		})
	}
}

func settingAt(in any, path string) string {
	for key := range strings.SplitSeq(path, ".") {
		if m, ok := in.(map[string]any); ok && key != "" {
			in = m[key]
		}
	}
	return fmt.Sprint(in)
}

func TestOverridesCoverEachSetting(t *testing.T) {
	t.Parallel()
	for f := range reflect.TypeFor[config.Experiment]().Fields() {
		key := f.Tag.Get("yaml")
		found := false
		for _, row := range overrides() {
			found = found || strings.HasPrefix(strings.TrimPrefix(row.override, "{"), key+":")
		}
		if !found {
			t.Errorf("no override of %s is tested", key)
		}
	}
}

// A continued experiment keeps what users have changed since it was created, and its trials what the
// override sets.
func TestOverrideKeepsLaterChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(single)
	if _, err := w.x.Patch(t.Context(), ann(), 1, Patch{Priority: new(11), Labels: &[]string{"kept"}}); err != nil {
		t.Fatal(err)
	}
	w.finish(1, 0)
	v, err := w.x.Continue(t.Context(), Continuation{By: ann(), ID: 1, Override: "retention_policy: {log_retention_days: 3}"})
	if err != nil {
		t.Fatal(err)
	}
	if v.Queue.Priority != 11 || len(v.Labels) != 1 || v.Labels[0] != "kept" {
		t.Errorf("got priority %d and labels %v, want those that the user set", v.Queue.Priority, v.Labels)
	}
	if got := w.trial(1); got.LogDays == nil || *got.LogDays != 3 {
		t.Errorf("got %+v, want the trial's logs kept for 3 days", got.Trial)
	}
}

// The override of a user is judged like a new experiment of theirs.
func TestOverrideIsJudgedByTheTaskPolicy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(single)
	w.finish(1, 0)
	const override = "bind_mounts: [{host_path: /data, container_path: /d}]"
	if _, err := w.x.Continue(t.Context(), Continuation{By: ann(), ID: 1, Override: override}); status.Of(err) != status.PermissionDenied {
		t.Errorf("got %v for a user, want PermissionDenied", err)
	}
	if _, err := w.x.Continue(t.Context(), Continuation{By: root(), ID: 1, Override: override}); err != nil {
		t.Errorf("got %v for an administrator, want it continued", err)
	}
}
