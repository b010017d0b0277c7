// Package view implements the API of experiments and trials: it converts stored documents to
// messages, sorts and pages lists, and parses requests.
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

// Config configures New. LogDays and Now are optional.
type Config struct {
	Experiments *experiment.Experiments
	// Store provides metrics and checkpoints.
	Store *store.Store
	// Metrics provides the metric summaries of trials.
	Metrics *metric.Metrics
	Users   Users
	Places  Places
	// LogDays is the default log retention in days; -1 keeps logs forever.
	LogDays int
	// Now is the clock. It defaults to time.Now.
	Now func() time.Time
}

// pageBytes limits the encoded size of a page. It is the size of 5,000 trials with a few metrics, or
// of 100 trials with the maximum number.
const pageBytes = 16 << 20

// Users looks up users; auth.Auth implements it.
type Users interface {
	User(id int32) (*apiv1.User, error)
}

// Places looks up projects and workspaces; workspace.Workspaces implements it.
type Places interface {
	Project(id int32) (workspace.Project, error)
	Workspace(id int32) (workspace.Workspace, error)
}

// New returns the API of experiments and the API of trials.
func New(cfg Config) (*Experiments, *Trials) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Experiments{cfg}, &Trials{cfg}
}

// toStruct converts a map to a Struct. Values that structpb does not accept are converted through
// JSON.
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

// toTime converts a time to a timestamp, and the zero time to nil.
func toTime(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

// cutPage returns the bounds of the page that apiv1.Page selects.
func cutPage(total int, offset, limit int32) (from, to int, p *apiv1.Pagination) {
	p = apiv1.Page(total, offset, limit)
	return int(p.GetStartIndex()), int(p.GetEndIndex()), p
}
