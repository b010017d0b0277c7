package tensorboard

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/experiment/program"
	tasklife "github.com/det-deploy/det-deploy/master/task/lifecycle"
	"github.com/det-deploy/det-deploy/master/task/spec"
)

// launcher runs the library's program for TensorBoards.
//
//go:embed run.py
var launcher string

// storagePath is the container path of the file with the storage.
const storagePath = spec.RunDir + "/tensorboard/storage.json"

// Program implements task.BoardPrograms.
func (t *TensorBoards) Program(ctx context.Context, task tasklife.Task, cfg spec.Config) (spec.Program, error) {
	sources, err := t.readSources(ctx, task.Board.Parts)
	if err != nil {
		return spec.Program{}, err
	}
	return buildProgram(t.cluster(), task, cfg, sources)
}

func buildProgram(cluster string, task tasklife.Task, cfg spec.Config, sources []source) (spec.Program, error) {
	var mounts []*agentv1.Mount
	for _, s := range sources {
		if m := s.place.mount(cluster); m != nil {
			mounts = append(mounts, m)
		}
	}
	storage, err := storageFile(sources[0].place.storage)
	if err != nil {
		return spec.Program{}, fmt.Errorf("write the storage of TensorBoard %s: %w", task.ID, err)
	}
	args := slices.Concat([]string{"-c", launcher, storagePath, directoriesOf(cluster, sources)}, cfg.TensorboardArgs)
	return spec.Program{
		Config: cfg, Argv: program.Argv(args...), Variables: []string{"TF_CPP_MIN_LOG_LEVEL=3"}, FixedPaths: true,
		HasContext: task.HasContext, Storage: mounts,
		Files: []*apiv1.File{{
			Path: storagePath, Content: storage, Mode: 0o400, Uid: int32(task.Unix.UID), Gid: int32(task.Unix.GID), //nolint:gosec // ids of an account
		}},
	}, nil
}

// longestList is the maximum length of the list of directories: Linux limits an argument to 128 KiB.
const longestList = 100 << 10

// directoriesOf returns the directories of all sources as an argument of the program.
func directoriesOf(cluster string, sources []source) string {
	var all []string
	for _, s := range sources {
		all = append(all, s.place.directories(cluster, s.part)...)
	}
	return strings.Join(all, ",")
}
