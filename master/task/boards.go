package task

import (
	"context"
	"io"
	"slices"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task/idle"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
	"github.com/det-deploy/det-deploy/master/task/spec"
)

// BoardPrograms builds the programs of TensorBoards. master/tensorboard implements it.
type BoardPrograms interface {
	// Program returns the program of a TensorBoard with its configuration. It is called before each start,
	// and again after a restart of the master that does not know whether it was started.
	Program(ctx context.Context, t lifecycle.Task, cfg spec.Config) (spec.Program, error)
}

// UseBoards sets the programs of TensorBoards. It is called before Attach.
func (run *runs) UseBoards(p BoardPrograms) { run.boards = p }

// Board is a TensorBoard to launch.
type Board struct {
	Shows lifecycle.Board
	// From are the settings of its experiments, over which those of the request are merged.
	From spec.Config
}

// LaunchBoard is Launch for a TensorBoard.
func (l *launches) LaunchBoard(ctx context.Context, user *apiv1.User, b Board, req *apiv1.LaunchCommandRequest,
	contents func(file int) (io.Reader, int64),
) (*apiv1.LaunchCommandResponse, error) {
	return l.launch(ctx, draft{id: taskID(user, ""), kind: lifecycle.TensorBoard, user: user, req: req, contents: contents, board: &b})
}

// Board returns what a listed TensorBoard shows; nil if there is none.
func (v *views) Board(ctx context.Context, id string) (*lifecycle.Board, error) {
	e, err := v.findKind(ctx, lifecycle.TensorBoard, id)
	if err != nil {
		return nil, err
	}
	return e.latestSnapshot().task.Board, nil
}

// BoardsOf returns the TensorBoards that show an experiment and have not ended.
func (v *views) BoardsOf(experiment int32) []rm.TaskID {
	var ids []rm.TaskID
	for _, e := range v.reg.listServing(lifecycle.TensorBoard) {
		s := e.latestSnapshot()
		if !s.hasEnded() && slices.ContainsFunc(s.task.Board.Parts, func(p lifecycle.BoardPart) bool { return p.Experiment == experiment }) {
			ids = append(ids, s.task.ID)
		}
	}
	return ids
}

// Boards returns the running TensorBoards.
func (run *runs) Boards() []idle.Task {
	var out []idle.Task
	for _, e := range run.reg.listServing(lifecycle.TensorBoard) {
		s := e.latestSnapshot()
		a := s.currentAllocation()
		if c, err := runningContainer(s, 0); err == nil && a.Killed == nil {
			out = append(out, idle.Task{Allocation: a.ID, Container: c, Ready: a.Ready, IdleTimeout: s.task.IdleTimeout})
		}
	}
	return out
}
