package server

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/accounting"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/checkpoint"
	checkpointview "github.com/det-deploy/det-deploy/master/checkpoint/view"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/master/config/security"
	"github.com/det-deploy/det-deploy/master/experiment"
	experimentview "github.com/det-deploy/det-deploy/master/experiment/view"
	"github.com/det-deploy/det-deploy/master/log"
	"github.com/det-deploy/det-deploy/master/metric"
	"github.com/det-deploy/det-deploy/master/metric/series"
	"github.com/det-deploy/det-deploy/master/model"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task"
	tasklife "github.com/det-deploy/det-deploy/master/task/lifecycle"
	"github.com/det-deploy/det-deploy/master/task/spec"
	"github.com/det-deploy/det-deploy/master/template"
	"github.com/det-deploy/det-deploy/master/tensorboard"
	"github.com/det-deploy/det-deploy/master/workspace"
)

// whole is a server with all collaborators of a master except for machines: submitted tasks wait, and
// placed tasks run nothing and never end.
type whole struct {
	*world

	machine *idle
	tasks   *task.Tasks
	x       *experiment.Experiments
	// ids holds the values of path parameters. The experiment belongs to the user determined, and its
	// trial is running.
	ids        map[string]string
	experiment int32
	// trial is the token of its trial's task.
	trial string
}

// wholeConfig is the configuration of the initial experiment.
const wholeConfig = `
name: one
entrypoint: python3 train.py
searcher: {name: single, metric: loss}
resources: {slots_per_trial: 1}
hyperparameters: {lr: 0.1}
`

// wholeEnvironment contains secrets.
const wholeEnvironment = `
environment:
  environment_variables: [KEY=hunter2]
  registry_auth: {username: robot, password: hunter2}
  pod_spec: {spec: {containers: [{name: determined-container, env: [{name: KEY, value: hunter2}]}]}}
`

// newWhole returns a world with all routes.
func newWhole(t testing.TB) *whole {
	t.Helper()
	w := &whole{world: newWorld(t), machine: &idle{known: map[rm.AllocationID]rm.Request{}}}
	spaces, templates := w.cfg.Workspaces.(*workspace.Workspaces), w.cfg.Templates.(*template.Templates)
	logs := log.New(t.Context(), w.store)
	t.Cleanup(logs.Close)
	tasks, err := task.Open(t.Context(), task.Config{
		Store: w.store, Logs: logs, Tokens: w.auth, WorkspaceName: spaces.WorkspaceName, OpenWorkspace: spaces.OpenWorkspace, Template: templates.Template,
		Defaults: func(string) container.Defaults { return container.Default() }, DefaultUser: security.AgentUser{User: "root", Group: "root"},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.tasks = tasks
	c := w.withExperiments(t, tasks, spaces, templates)
	models, err := model.Open(t.Context(), model.Config{Store: w.store, Workspaces: spaces, Users: w.auth, Checkpoint: c.Checkpoints.Checkpoint})
	if err != nil {
		t.Fatal(err)
	}
	c.Models, c.Tasks, c.Logs = models, tasks, experimentview.NewLogs(tasks, w.x, logs)
	spaces.Attach(nil, templates, models)
	w.remake(t, func(to *Config) { *to = c })
	w.begin(t)
	return w
}

// withExperiments returns the configuration of a server with experiments, which are closed when the test
// ends.
func (w *whole) withExperiments(t testing.TB, tasks *task.Tasks, spaces *workspace.Workspaces, templates *template.Templates) Config {
	t.Helper()
	storage := &config.CheckpointStorage{Directory: &config.DirectoryStorage{ContainerPath: "/checkpoints"}}
	saved, err := checkpoint.New(checkpoint.Config{
		Store: w.store, Tasks: tasks, Workspace: func(int32) (int32, error) { return 1, nil },
		Storages: func() []config.CheckpointStorage { return []config.CheckpointStorage{*storage} },
	})
	if err != nil {
		t.Fatal(err)
	}
	metrics := metric.Open(w.store)
	w.x, err = experiment.Open(t.Context(), experiment.Config{
		Store: w.store, Tasks: tasks, Places: spaces, Templates: templates, Metrics: metrics, Checkpoints: saved, Storage: storage,
	})
	if err != nil {
		t.Fatal(err)
	}
	tasks.Own(tasklife.Trial, w.x)
	tasks.Own(tasklife.CheckpointGC, saved.Owner())
	if err := tasks.Attach(t.Context(), w.machine); err != nil {
		t.Fatal(err)
	}
	w.reconcile(t)
	c := w.cfg
	c.Experiments, c.Trials = experimentview.New(experimentview.Config{
		Experiments: w.x, Store: w.store, Metrics: metrics, Users: w.auth, Places: spaces, LogDays: -1,
	})
	c.TensorBoards = tensorboard.New(tensorboard.Config{
		Store: w.store, Experiments: w.x, Matching: func(*apiv1.GetExperimentsRequest) []int32 { return nil }, Tasks: tasks,
		Pool: func(name string) string { return name }, Defaults: func(string) container.Defaults { return container.Default() },
	})
	c.TrialMetrics = series.New(series.Config{Experiments: w.x, Store: w.store, Metrics: metrics})
	c.Checkpoints = checkpointview.New(checkpointview.Config{Checkpoints: saved, Trials: w.x, Store: w.store})
	c.Launches, c.Audit, c.Metrics = launches{}, &notes{}, nil
	c.Book = &accounting.Book{
		Store: w.store, Placed: tasks.Placed, Project: func(int32) string { return "" },
		Experiment: w.subjectOf, Workspace: spaces.WorkspaceName, Now: time.Now,
	}
	return c
}

// reconcile runs the reconciliation of experiments until the test ends.
func (w *whole) reconcile(t testing.TB) {
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.x.Reconcile(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("reconcile: %v", err)
		}
	})
}

// begin creates an experiment with a running trial and stores their IDs.
func (w *whole) begin(t testing.TB) {
	t.Helper()
	owner, err := w.auth.User(2)
	if err != nil {
		t.Fatal(err)
	}
	made, err := w.x.Create(t.Context(), experiment.Order{By: owner, Config: wholeConfig + wholeEnvironment, Activate: true})
	if err != nil {
		t.Fatal(err)
	}
	trials, err := w.x.Trials(t.Context(), made.View.ID)
	if err != nil || len(trials) != 1 {
		t.Fatalf("got %d trials and %v, want one", len(trials), err)
	}
	allocation := w.machine.await(t, trials[0].Task())
	if _, err := w.tasks.Assigned(t.Context(), rm.Assignment{Allocation: allocation, Pool: "default", At: time.Now(), Containers: []rm.Container{{
		ID: "c1", Agent: "a", Devices: []*apiv1.Device{{Type: apiv1.Device_TYPE_CPU}},
	}}}); err != nil {
		t.Fatal(err)
	}
	running := rm.ContainerChange{Allocation: allocation, Container: "c1", Agent: "a", State: apiv1.Container_STATE_RUNNING, At: time.Now()}
	if err := w.tasks.Changed(t.Context(), running); err != nil {
		t.Fatal(err)
	}
	text, _, err := w.auth.TaskTokens(t.Context(), 2, string(allocation))
	if err != nil {
		t.Fatal(err)
	}
	secrets, err := spec.ReadText(wholeEnvironment)
	if err != nil {
		t.Fatal(err)
	}
	shell, err := w.tasks.LaunchKind(t.Context(), tasklife.Shell, owner, &apiv1.LaunchCommandRequest{Config: secrets}, nil)
	if err != nil {
		t.Fatal(err)
	}
	notebook, err := w.tasks.LaunchKind(t.Context(), tasklife.Notebook, owner, &apiv1.LaunchCommandRequest{Config: secrets}, nil)
	if err != nil {
		t.Fatal(err)
	}
	board, err := w.tasks.LaunchBoard(t.Context(), owner, task.Board{Shows: tasklife.Board{Parts: []tasklife.BoardPart{{Experiment: made.View.ID}}}}, &apiv1.LaunchCommandRequest{Config: secrets}, nil)
	if err != nil {
		t.Fatal(err)
	}
	generic, err := w.tasks.CreateGeneric(t.Context(), owner, 1, &apiv1.CreateGenericTaskRequest{Config: "entrypoint: sleep 9" + wholeEnvironment}, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.experiment, w.trial = made.View.ID, string(text)
	w.ids = map[string]string{
		"experiment": strconv.Itoa(int(made.View.ID)), "trial": strconv.Itoa(int(trials[0].ID)), "run": strconv.Itoa(int(trials[0].ID)),
		"task": trials[0].Task(), "allocation": string(allocation), "command": "t1", "service": "t1", "shell": shell.GetCommand().GetId(), "notebook": notebook.GetCommand().GetId(), "generic": generic.GetTaskId(), "tensorboard": board.GetCommand().GetId(), "array": "none", "context": "c1", "kind": "tasks", "user": "2", "username": "determined", "session": "none",
		"agent": "a", "slot": "0", "pool": "default", "workspace": "99", "project": "99", "key": "none", "template": "none", "model": "none", "version": "1",
		"checkpoint": checkpointA, "resources": "c1", "label": "blue", "external": "theirs",
	}
}

// fill returns a route's path with its parameters replaced, and with the query that prevents waiting.
func (w *whole) fill(r route) string {
	var pairs []string
	for name, id := range w.ids {
		pairs = append(pairs, "{"+name+"}", id)
	}
	path := strings.NewReplacer(pairs...).Replace(r.fullPath())
	if strings.HasSuffix(path, "/preemption") {
		path += "?timeoutSeconds=0"
	}
	return path
}

// idle is a resource manager that accepts every request and runs nothing.
type idle struct {
	mu    sync.Mutex // guards known
	known map[rm.AllocationID]rm.Request
}

func (m *idle) Validate(rm.Request) error { return nil }

func (m *idle) Submit(_ context.Context, r rm.Request) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known[r.Allocation] = r
	return nil
}

func (m *idle) Kill(context.Context, rm.AllocationID, string) error    { return nil }
func (m *idle) Preempt(context.Context, rm.AllocationID, string) error { return nil }
func (m *idle) Change(context.Context, rm.JobID, rm.Change) error      { return nil }

func (m *idle) Allocation(id rm.AllocationID) (rm.Allocation, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, found := m.known[id]
	return rm.Allocation{Request: r, Pool: r.Pool}, found
}

func (m *idle) Priority(rm.AllocationID) (int, bool) { return 0, false }

func (m *idle) PriorityChanges() uint64 { return 0 }

func (m *idle) Queue(rm.QueuePart) []*apiv1.Job { return nil }

func (m *idle) Pools() []*apiv1.ResourcePool { return nil }

func (m *idle) PoolSettings() []rm.PoolSettings {
	return []rm.PoolSettings{{Name: "default", DefaultAux: true, DefaultCompute: true, DefaultPriority: 42}}
}

// await waits for the allocation of a task.
func (m *idle) await(t testing.TB, id string) rm.AllocationID {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-time.After(time.Millisecond) {
		if found := m.allocationOf(id); found != "" {
			return found
		}
	}
	t.Fatalf("task %s is not submitted", id)
	return ""
}

func (m *idle) allocationOf(task string) rm.AllocationID {
	m.mu.Lock()
	defer m.mu.Unlock()
	for allocation, r := range m.known {
		if string(r.Task) == task {
			return allocation
		}
	}
	return ""
}

// If a route were missing from the world, its tests would omit that route.
func TestWholeWorldHasEveryRoute(t *testing.T) {
	t.Parallel()
	w := newWhole(t)
	var missing []string
	for _, r := range w.routes() {
		path := w.fill(r)
		if strings.Contains(path, "{") {
			missing = append(missing, r.method+" "+r.path)
		}
		if rec := w.ask(t, r.method, path, "", ""); rec.Code == 501 {
			missing = append(missing, r.method+" "+r.path)
		}
	}
	if slices.Sort(missing); len(missing) > 0 {
		t.Errorf("no id fills, or nothing answers, %s", strings.Join(missing, ", "))
	}
}

// subjectOf returns the experiment of a job.
func (w *whole) subjectOf(job rm.JobID) accounting.Subject {
	x, _ := w.x.OfJob(job)
	return accounting.Subject{ID: x.ID, Name: x.Name, Labels: x.Labels, Project: x.ProjectID}
}
