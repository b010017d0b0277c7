// Package tensorboard starts TensorBoards: tasks that run the client library's program on the TensorBoard
// files of experiments.
//
//	request ─▶ choose: experiments, best trials ─▶ inherit: image, mounts, variables ─▶ task
//	start of the task ─▶ locate: the storages as they are now ─▶ Program: mounts, storage file, arguments
//
// The keys of a storage are read from the store whenever a task starts. They are in a file of its container,
// and neither in its arguments, variables, configuration nor log.
package tensorboard

import (
	"context"
	"io"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	masterconfig "github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/master/experiment"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/task"
)

// Experiments are the experiments of the cluster. For a missing one, errors have the code NotFound.
type Experiments interface {
	Get(id int32) (experiment.View, error)
	Trials(ctx context.Context, experiment int32) ([]experiment.TrialView, error)
	Trial(ctx context.Context, id int32) (experiment.TrialView, error)
}

// Tasks runs TensorBoards. *task.Tasks implements it.
type Tasks interface {
	LaunchBoard(ctx context.Context, by *apiv1.User, b task.Board, req *apiv1.LaunchCommandRequest,
		contents func(file int) (io.Reader, int64)) (*apiv1.LaunchCommandResponse, error)
}

// Config configures New. Storage is optional.
type Config struct {
	Store       *store.Store
	Experiments Experiments
	// Matching returns the IDs of the experiments that a request selects.
	Matching func(r *apiv1.GetExperimentsRequest) []int32
	Tasks    Tasks
	// Storage is the cluster's checkpoint storage, with its keys.
	Storage *masterconfig.CheckpointStorage
	// Pool returns a pool, or the default one if it no longer exists.
	Pool func(name string) string
	// Defaults returns the container defaults of a pool.
	Defaults func(pool string) container.Defaults
}

// TensorBoards is safe for concurrent use.
type TensorBoards struct{ cfg Config }

// New returns the TensorBoards of a cluster.
func New(cfg Config) *TensorBoards { return &TensorBoards{cfg} }

// Launch starts a TensorBoard. The errors are those of task.Launch, and NotFound for experiments and trials,
// FailedPrecondition for experiments without files, and PermissionDenied for those with keys of others.
func (t *TensorBoards) Launch(ctx context.Context, by *apiv1.User, req *apiv1.LaunchTensorboardRequest,
	contents func(file int) (io.Reader, int64),
) (*apiv1.LaunchCommandResponse, error) {
	shows, err := t.choose(ctx, req)
	if err != nil {
		return nil, err
	}
	sources, err := t.readSources(ctx, shows.Parts)
	if err != nil {
		return nil, err
	}
	for _, s := range sources {
		if err := t.checkKeys(by, s); err != nil {
			return nil, err
		}
	}
	if n := len(directoriesOf(t.cluster(), sources)); n > longestList {
		return nil, status.New(status.InvalidArgument, "a TensorBoard cannot show that many trials: the list of their directories has %d bytes, and at most %d are possible; choose fewer experiments", n, longestList)
	}
	from, err := inherit(by, sources)
	if err != nil {
		return nil, err
	}
	from.Resources.ResourcePool = t.cfg.Pool(from.Resources.ResourcePool)
	given := t.cfg.Defaults(from.Resources.ResourcePool)
	from.Environment.Variables = without(from.Environment.Variables, given.Environment)
	from.Environment.Image = notGiven(from.Environment.Image, given.Image)
	return t.cfg.Tasks.LaunchBoard(ctx, by, task.Board{Shows: shows, From: from}, &apiv1.LaunchCommandRequest{
		Config: req.GetConfig(), TemplateName: req.GetTemplateName(), Files: req.GetFiles(), WorkspaceId: req.GetWorkspaceId(),
	}, contents)
}

// checkKeys returns PermissionDenied if a user would get the keys of another user's storage, which are in the
// container of the TensorBoard. All users may have those of the cluster's storage.
func (t *TensorBoards) checkKeys(by *apiv1.User, s source) error {
	if s.mayRead(by) || !s.place.storage.HasSecrets() {
		return nil
	}
	if t.cfg.Storage != nil && sameKeys(*t.cfg.Storage, s.place.storage.Typed()) {
		return nil
	}
	return status.New(status.PermissionDenied, "cannot show experiment %d: its storage has keys that only its owner %s and administrators may use; one of them can start a TensorBoard that you can open", s.experiment.ID, s.experiment.Username)
}
