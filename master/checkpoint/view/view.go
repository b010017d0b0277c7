// Package view implements the API of checkpoints: it converts records to messages, sorts and pages
// lists, and parses requests.
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

// Trials updates trials after changes of their checkpoints; experiment.Experiments implements it.
type Trials interface {
	// Checkpointed makes a checkpoint the latest one of its trial, in the transaction in which put
	// stores it.
	Checkpointed(ctx context.Context, c experiment.Checkpointed, put func(context.Context, *store.Tx) error) error
	// Patched updates a trial after a change of its latest checkpoint, in the transaction in which
	// patch stores it.
	Patched(ctx context.Context, trial int32, patch func(context.Context, *store.Tx) error) error
}

// Config configures New. All fields except Now are required.
type Config struct {
	Checkpoints *checkpoint.Checkpoints
	Trials      Trials
	Store       *store.Store
	// Now is the clock. It defaults to time.Now.
	Now func() time.Time
}

// Checkpoints implements the API of checkpoints. It authorizes changes: by the owner of the
// experiment, by administrators, and by tasks as documented for each method.
type Checkpoints struct {
	cfg   Config
	tasks *taskTrials
}

// New returns the API of checkpoints.
func New(cfg Config) *Checkpoints {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Checkpoints{cfg: cfg, tasks: newTaskTrials(cfg.Store)}
}

// may returns a function that returns an error if the user may not change the checkpoints of an
// experiment.
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
		return status.New(status.PermissionDenied, "experiment %d belongs to another user: only its owner and administrators may change its checkpoints", id)
	}
}

// toStruct converts a map to a Struct.
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
