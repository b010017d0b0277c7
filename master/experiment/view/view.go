// Package view is experiments and trials as clients of the API see them: it turns what is stored of
// them into messages, sorts and pages lists, and reads requests.
package view

import (
	"encoding/json"
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/experiment"
	"github.com/det-deploy/det-deploy/master/metric"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/workspace"
)

// Config is what New needs. All of it must be set, except for LogDays and Now.
type Config struct {
	Experiments *experiment.Experiments
	// Store is read for metrics and checkpoints.
	Store *store.Store
	// Metrics has the summaries of what trials report.
	Metrics *metric.Metrics
	Users   Users
	Places  Places
	// LogDays is how long logs are kept where no user says, -1 for ever.
	LogDays int
	// Now is the clock; nil is the system's.
	Now func() time.Time
}

// pageBytes bounds a page of trials, encoded: 5,000 trials with a few metrics, or 100 with as many as a trial may have.
const pageBytes = 16 << 20

// Users is who users are; auth.Auth has these methods.
type Users interface {
	User(id int32) (*apiv1.User, error)
}

// Places is the workspaces and projects of the cluster; workspace.Workspaces has these methods.
type Places interface {
	Project(id int32) (workspace.Project, error)
	Workspace(id int32) (workspace.Workspace, error)
}

// New is the two halves of the API of experiments.
func New(cfg Config) (*Experiments, *Trials) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Experiments{cfg}, &Trials{cfg}
}

// toStruct is a value as clients read it: what was read from JSON as it is, all else through JSON,
// because a Struct does not take our types.
func toStruct(v map[string]any) (*structpb.Struct, error) {
	if len(v) == 0 {
		return &structpb.Struct{}, nil
	}
	if out, err := structpb.NewStruct(v); err == nil {
		return out, nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("show %d settings: %w", len(v), err)
	}
	out := &structpb.Struct{}
	if err := protojson.Unmarshal(b, out); err != nil {
		return nil, fmt.Errorf("show %d settings: %w", len(v), err)
	}
	return out, nil
}

// toTime is nil for a time that is not known.
func toTime(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

// cutPage returns the part of a list that apiv1.Page selects, and its bounds.
func cutPage(total int, offset, limit int32) (from, to int, p *apiv1.Pagination) {
	p = apiv1.Page(total, offset, limit)
	return int(p.GetStartIndex()), int(p.GetEndIndex()), p
}
