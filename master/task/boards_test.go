package task_test

import (
	"context"
	"slices"
	"testing"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
	"github.com/det-deploy/det-deploy/master/task/spec"
)

// boardPrograms run the configured program.
type boardPrograms struct{ shown []int32 }

func (b *boardPrograms) Program(_ context.Context, t lifecycle.Task, cfg spec.Config) (spec.Program, error) {
	for _, p := range t.Board.Parts {
		b.shown = append(b.shown, p.Experiment)
	}
	return spec.Program{Config: cfg, Argv: []string{"show"}}, nil
}

func TestTensorBoards(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	programs := &boardPrograms{}
	m.tasks.UseBoards(programs)
	b := task.Board{Shows: lifecycle.Board{Experiments: []int32{7}, Parts: []lifecycle.BoardPart{{Experiment: 7}, {Experiment: 9, Trials: []int32{3}}}}}
	b.From.Environment.Image = container.Images{CPU: "cpu", CUDA: "cuda", ROCm: "rocm"}
	b.From.Environment.RegistryAuth = &spec.RegistryAuth{Username: "robot"}
	made, err := m.tasks.LaunchBoard(t.Context(), ann(), b, &apiv1.LaunchCommandRequest{Config: command(t, `{"resources":{"slots":2},"tensorboard_args":["--x"]}`).GetConfig()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	id := made.GetCommand().GetId()
	s := m.assign(first(id), 1)[0]
	if s.GetImage() != "cpu" || s.GetRegistryAuth().GetUsername() != "robot" || s.GetEntrypoint()[0] != "show" || s.GetTaskType() != "TENSORBOARD" || !slices.Contains(s.GetEnvironment(), "TENSORBOARD_PORT=2600") {
		t.Errorf("got %v, want the program with the image of the experiment", s)
	}
	if !slices.Equal(programs.shown, []int32{7, 9}) || !slices.Equal(m.tasks.BoardsOf(9), []rm.TaskID{rm.TaskID(id)}) || m.tasks.BoardsOf(8) != nil {
		t.Errorf("got %v, %v and %v, want experiments 7 and 9", programs.shown, m.tasks.BoardsOf(9), m.tasks.BoardsOf(8))
	}
	m.changed(first(id), 0, running, nil)
	for i, tc := range []struct {
		line  string
		ready bool
	}{{"TensorBoard 2.21.0 at http://127.0.0.1:2600", false}, {"TensorBoard is waiting for metrics.", false}, {"TensorBoard contains metrics", true}, {"TensorBoard is waiting for metrics.", true}} {
		m.must(func() error { return m.print(first(id), "a1", uint64(i), tc.line) })
		if got, err := m.tasks.Task(t.Context(), id); err != nil || got.GetTask().GetAllocations()[0].GetIsReady() != tc.ready {
			t.Errorf("after %q: got %v and %v, want it ready: %t", tc.line, got, err, tc.ready)
		}
		if got := m.tasks.Boards(); len(got) != 1 || got[0].Ready != tc.ready {
			t.Errorf("after %q: got %+v, want it listed, and ready: %t", tc.line, got, tc.ready)
		}
	}
	if got, err := m.tasks.Service(t.Context(), id, 0); err != nil || got.Port != 2600 || !got.Public || got.Unauthenticated {
		t.Errorf("got %+v and %v, want a service for all users", got, err)
	}
	if got, err := m.tasks.Board(t.Context(), id); err != nil || !slices.Equal(got.Experiments, []int32{7}) {
		t.Errorf("got %v and %v, want the experiments of the request", got, err)
	}
	if _, err := m.tasks.KillKind(t.Context(), &apiv1.User{Id: 99}, lifecycle.TensorBoard, id); status.Of(err) != status.PermissionDenied {
		t.Errorf("got %v for another user, want a refusal", err)
	}
	if want := "WARNING resources.slots has no effect: a tensorboard uses no slots"; !slices.Contains(m.lines(id), want) {
		t.Errorf("got the log %q, want %q", m.lines(id), want)
	}
}
