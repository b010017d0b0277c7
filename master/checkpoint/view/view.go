// Package view is checkpoints as clients of the API see them: it turns records into
// messages, sorts and pages lists, and reads requests.
package view

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/checkpoint"
	"github.com/det-deploy/det-deploy/master/experiment"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/store"
)

// Trials takes in checkpoints; experiment.Experiments has it.
type Trials interface {
	// Checkpointed notes a checkpoint as its trial's latest, in the transaction in which put stores it.
	Checkpointed(ctx context.Context, c experiment.Checkpointed, put func(context.Context, *store.Tx) error) error
	// Patched notes what became of a trial's latest checkpoint, in the transaction in which patch stores it.
	Patched(ctx context.Context, trial int32, patch func(context.Context, *store.Tx) error) error
}

// Config is what New needs. All of it must be set, except for Now.
type Config struct {
	Checkpoints *checkpoint.Checkpoints
	Trials      Trials
	Store       *store.Store
	// Now is the clock; nil is the system's.
	Now func() time.Time
}

// Checkpoints answers for checkpoints. Who may change what is decided here: the owner of the experiment,
// administrators, and tasks as far as the calls say.
type Checkpoints struct {
	cfg   Config
	tasks *taskTrials
}

// New is the API of checkpoints.
func New(cfg Config) *Checkpoints {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Checkpoints{cfg: cfg, tasks: newTaskTrials(cfg.Store)}
}

// may says whether a user may change the checkpoints of an experiment.
func (v *Checkpoints) may(ctx context.Context, by *apiv1.User) func(experiment int32) error {
	return func(id int32) error {
		x, found, err := record.Docs().Experiments.Get(ctx, v.cfg.Store, record.Key(id))
		switch {
		case err != nil:
			return err
		case !found:
			return status.Missing("experiment", fmt.Sprint(id))
		case by.GetAdmin() || by.GetId() == x.Value.UserID:
			return nil
		}
		return status.New(status.PermissionDenied, "experiment %d is another user's: only its owner and administrators may change its checkpoints", id)
	}
}

// toStruct is settings as a message.
func toStruct(v map[string]any) (*structpb.Struct, error) {
	out := &structpb.Struct{}
	if len(v) == 0 {
		return out, nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("show %d settings: %w", len(v), err)
	}
	if err := protojson.Unmarshal(b, out); err != nil {
		return nil, fmt.Errorf("show %d settings: %w", len(v), err)
	}
	return out, nil
}

func toTime(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}
