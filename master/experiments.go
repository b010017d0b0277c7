package master

import (
	"context"
	"fmt"
	"slices"

	"github.com/det-deploy/det-deploy/cloud/secret"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/checkpoint"
	checkpointview "github.com/det-deploy/det-deploy/master/checkpoint/view"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/experiment"
	experimentview "github.com/det-deploy/det-deploy/master/experiment/view"
	"github.com/det-deploy/det-deploy/master/metric"
	"github.com/det-deploy/det-deploy/master/metric/series"
	"github.com/det-deploy/det-deploy/master/quota"
	"github.com/det-deploy/det-deploy/master/server"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
	"github.com/det-deploy/det-deploy/master/tensorboard"
)

// openExperiments opens checkpoints, metrics and experiments.
func (m *Master) openExperiments(ctx context.Context) error {
	cfg, err := withRegistries(ctx, m.parts.Config, m.parts.Secrets)
	if err != nil {
		return err
	}
	storage, err := withStorageKeys(ctx, cfg.CheckpointStorage, m.parts.Secrets)
	if err != nil {
		return fmt.Errorf("checkpoint_storage: %w", err)
	}
	m.checkpoints, err = checkpoint.New(checkpoint.Config{
		Store: m.store, Tasks: m.tasks, Workspace: m.workspaceOfProject, Pool: m.poolOrDefault, Defaults: taskDefaults(cfg),
		Storages: m.storages, Buckets: m.parts.Buckets, Log: m.log,
	})
	if err != nil {
		return err
	}
	m.trialMetrics = metric.Open(m.store)
	m.trialMetrics.LimitUsers(m.quota)
	m.experiments, err = experiment.Open(ctx, experiment.Config{
		Store: m.store, Tasks: m.tasks, Places: m.workspaces, Templates: m.templates, Metrics: m.trialMetrics, Checkpoints: m.checkpoints,
		Storage: storage, Quota: m.quota, Contexts: m.contexts, Log: m.log,
	})
	if err != nil {
		return err
	}
	m.logs.LimitUsers(m.quota, m.ownerOfLog)
	m.checkpointView = checkpointview.New(checkpointview.Config{Checkpoints: m.checkpoints, Trials: m.experiments, Store: m.store})
	m.tensorBoards = tensorboard.New(tensorboard.Config{
		Store: m.store, Experiments: m.experiments,
		Matching: func(r *apiv1.GetExperimentsRequest) []int32 { return experimentview.Matching(m.experiments, r) },
		Tasks:    m.tasks, Storage: storage, Pool: m.poolOrDefault, Defaults: taskDefaults(cfg),
	})
	m.tasks.UseBoards(m.tensorBoards)
	m.tasks.Own(lifecycle.Trial, m.experiments)
	m.tasks.Own(lifecycle.CheckpointGC, m.checkpoints.Owner())
	return nil
}

// ownerOfLog implements log.UserOf for tasks of the cluster and external programs.
func (m *Master) ownerOfLog(ctx context.Context, id string) (quota.User, error) {
	if u, found := m.experiments.OwnerOfLog(id); found {
		return u, nil
	}
	return m.tasks.OwnerOfLog(ctx, id)
}

// serveExperiments adds the experiment API to a server.
func (m *Master) serveExperiments(c *server.Config) {
	experiments, trials := experimentview.New(experimentview.Config{
		Experiments: m.experiments, Store: m.store, Metrics: m.trialMetrics, Users: m.auth, Places: m.workspaces, LogDays: logDays(m.parts.Config.RetentionPolicy),
	})
	c.Experiments, c.Trials, c.TensorBoards = experiments, trials, m.tensorBoards
	c.Logs = experimentview.NewLogs(m.tasks, m.experiments, m.logs)
	c.TrialMetrics = series.New(series.Config{Experiments: m.experiments, Store: m.store, Metrics: m.trialMetrics})
	c.Checkpoints = m.checkpointView
	c.Book = m.accountBook()
}

func (m *Master) workspaceOfProject(id int32) (int32, error) {
	p, err := m.workspaces.Project(id)
	return p.WorkspaceID, err
}

// poolOrDefault returns a pool, or the default pool if it no longer exists.
func (m *Master) poolOrDefault(name string) string {
	if names := m.poolNames(); len(names) > 0 && !slices.Contains(names, name) {
		return names[0]
	}
	return name
}

// logDays returns the retention of logs in days, or -1 forever.
func logDays(r config.RetentionPolicy) int {
	if r.Days == nil {
		return -1
	}
	return *r.Days
}

// storages returns the checkpoint storages that administrators have configured.
func (m *Master) storages() []config.CheckpointStorage {
	var out []config.CheckpointStorage
	if s := m.parts.Config.CheckpointStorage; s != nil {
		out = append(out, *s)
	}
	for _, s := range m.workspaces.Storages() {
		out = append(out, s.Typed())
	}
	return out
}

// withStorageKeys returns a storage with resolved keys, which programs need to upload checkpoints.
// It returns nil for nil.
func withStorageKeys(ctx context.Context, s *config.CheckpointStorage, from secret.Resolver) (*config.CheckpointStorage, error) {
	if s == nil {
		return nil, nil
	}
	out := *s
	var values []*secret.Value
	switch {
	case s.S3 != nil:
		bucket := *s.S3
		out.S3, values = &bucket, []*secret.Value{&bucket.AccessKey, &bucket.SecretKey}
	case s.Azure != nil:
		container := *s.Azure
		out.Azure, values = &container, []*secret.Value{&container.ConnectionString, &container.Credential}
	}
	for _, v := range values {
		resolved, err := from.Resolve(ctx, *v)
		if err != nil {
			return nil, err
		}
		*v = resolved
	}
	return &out, nil
}
