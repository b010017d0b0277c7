package model

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/checkpoint"
)

// List returns all models ordered by ID.
func (s *shared) List() []*apiv1.Model {
	all := s.table.list()
	out := make([]*apiv1.Model, 0, len(all))
	for _, m := range all {
		out = append(out, s.show(m))
	}
	return out
}

// Get returns a model by name or ID, or NotFound.
func (s *shared) Get(identifier string) (*apiv1.Model, error) {
	m, err := s.find(identifier)
	if err != nil {
		return nil, err
	}
	return s.show(m), nil
}

// Labels returns the labels of the models in a workspace, the most used first. Workspace 0 means all
// workspaces.
func (s *shared) Labels(workspaceID int32) []string {
	used := map[string]int{}
	for _, m := range s.table.list() {
		if workspaceID != 0 && m.WorkspaceID != workspaceID {
			continue
		}
		for _, l := range m.Labels {
			used[l]++
		}
	}
	return slices.SortedFunc(maps.Keys(used), func(a, b string) int {
		return cmp.Or(cmp.Compare(used[b], used[a]), strings.Compare(a, b))
	})
}

func (s *shared) show(m modelRecord) *apiv1.Model {
	return &apiv1.Model{
		Id: m.ID, Name: m.Name, Description: m.Description, Notes: m.Notes, Metadata: decodeMetadata(m.Metadata), Labels: m.Labels,
		CreationTime: timestamppb.New(m.Created), LastUpdatedTime: timestamppb.New(m.Updated), NumVersions: m.Versions,
		UserId: m.UserID, Username: s.nameUser(m.UserID), WorkspaceId: m.WorkspaceID, Archived: m.Archived,
	}
}

func (s *shared) showVersion(ctx context.Context, m modelRecord, v versionRecord) (*apiv1.ModelVersion, error) {
	c, err := s.showCheckpoint(ctx, v.Checkpoint)
	if err != nil {
		return nil, err
	}
	return &apiv1.ModelVersion{
		Id: v.ID, Model: s.show(m), Checkpoint: c, Version: v.Version, Name: v.Name, Comment: v.Comment, Notes: v.Notes,
		Metadata: decodeMetadata(v.Metadata), Labels: v.Labels, UserId: v.UserID, Username: s.nameUser(v.UserID),
		CreationTime: timestamppb.New(v.Created), LastUpdatedTime: timestamppb.New(v.Updated),
	}, nil
}

// showCheckpoint returns a checkpoint as an API message.
func (s *shared) showCheckpoint(ctx context.Context, uuid string) (*apiv1.Checkpoint, error) {
	if s.cfg.Checkpoint != nil {
		return s.cfg.Checkpoint(ctx, uuid)
	}
	r, found, err := checkpoint.Get(ctx, s.cfg.Store, uuid)
	if err == nil && !found {
		err = checkpoint.NotFound(uuid)
	}
	if err != nil {
		return nil, err
	}
	metadata, err := structpb.NewStruct(r.Metadata)
	if err != nil {
		return nil, err
	}
	return &apiv1.Checkpoint{
		Uuid: r.UUID, State: apiv1.Checkpoint_STATE_COMPLETED, ReportTime: timestamppb.New(r.Reported), Resources: r.Resources, Metadata: metadata,
		Training: &apiv1.CheckpointTrainingMetadata{
			TrialId: wrapperspb.Int32(r.Trial), ExperimentId: wrapperspb.Int32(r.Experiment),
			ValidationMetrics: &apiv1.Metrics{AvgMetrics: &structpb.Struct{}},
		},
	}, nil
}

func (s *shared) nameUser(id int32) string {
	u, err := s.cfg.Users.User(id)
	if err != nil {
		return ""
	}
	return u.GetUsername()
}
