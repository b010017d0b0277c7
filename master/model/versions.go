package model

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/checkpoint"
	"github.com/det-deploy/det-deploy/master/store"
)

// versions registers checkpoints as versions of models.
type versions struct{ *shared }

// Register creates the next version of a model and protects its checkpoint from deletion in the same
// transaction. The user must be allowed to read the checkpoint. It returns NotFound,
// PermissionDenied, FailedPrecondition or InvalidArgument.
func (v *versions) Register(ctx context.Context, by *apiv1.User, identifier string, in *apiv1.PostModelVersionRequest) (*apiv1.ModelVersion, error) {
	if in.GetCheckpointUuid() == "" {
		return nil, status.New(status.InvalidArgument, "checkpointUuid: is required")
	}
	v.change.Lock()
	defer v.change.Unlock()
	m, err := v.findOpen(by, identifier)
	if err != nil {
		return nil, err
	}
	now := v.cfg.Now().UTC()
	r := versionRecord{ModelID: m.ID, Version: m.LastVersion + 1, Checkpoint: in.GetCheckpointUuid(), UserID: by.GetId(), Created: now, Updated: now}
	_, r.ID = v.table.nextIDs()
	err = applyVersion(&r, &apiv1.PatchModelVersion{Name: &in.Name, Comment: &in.Comment, Notes: &in.Notes, Metadata: in.GetMetadata()})
	if err != nil {
		return nil, err
	}
	if r.Labels, err = checkLabels(in.GetLabels()); err != nil {
		return nil, err
	}
	m.Versions, m.LastVersion, m.Updated = m.Versions+1, r.Version, now
	err = v.store(ctx, m, func(tx *store.Tx) error {
		saved, err := checkpoint.Refer(ctx, tx, checkpoint.VersionOf(m.ID, m.Name, r.Version), r.Checkpoint)
		if err == nil {
			err = checkpoint.CheckReader(ctx, tx, by, saved)
		}
		if err != nil {
			return err
		}
		return errors.Join(putVersion(tx, r), counters.Put(tx, versionCounter, "", now, counter{Last: r.ID}))
	})
	if err != nil {
		return nil, err
	}
	v.table.keepCounter(versionCounter, r.ID)
	return v.showVersion(ctx, m, r)
}

// Numbers returns a model and the numbers of its versions, or NotFound.
func (v *versions) Numbers(ctx context.Context, identifier string) (*apiv1.Model, []int32, error) {
	m, err := v.find(identifier)
	if err != nil {
		return nil, nil, err
	}
	docs, err := versionDocs.ByParent(ctx, v.cfg.Store, modelID(m.ID))
	if err != nil {
		return nil, nil, err
	}
	var numbers []int32
	for _, d := range docs {
		numbers = append(numbers, d.Value.Version)
	}
	slices.Sort(numbers)
	return v.show(m), numbers, nil
}

// Version returns a version of a model, or NotFound.
func (v *versions) Version(ctx context.Context, identifier string, number int32) (*apiv1.ModelVersion, error) {
	m, r, err := v.findVersion(ctx, identifier, number)
	if err != nil {
		return nil, err
	}
	return v.showVersion(ctx, m, r)
}

// PatchVersion changes the fields that are set in p. It returns the errors of Register.
func (v *versions) PatchVersion(ctx context.Context, by *apiv1.User, identifier string, number int32, p *apiv1.PatchModelVersion) (*apiv1.ModelVersion, error) {
	v.change.Lock()
	defer v.change.Unlock()
	m, err := v.findOpen(by, identifier)
	if err != nil {
		return nil, err
	}
	m, r, err := v.findVersion(ctx, modelID(m.ID), number)
	if err != nil {
		return nil, err
	}
	if err := applyVersion(&r, p); err != nil {
		return nil, err
	}
	r.Updated = v.cfg.Now().UTC()
	m.Updated = r.Updated
	if err := v.store(ctx, m, func(tx *store.Tx) error { return putVersion(tx, r) }); err != nil {
		return nil, err
	}
	return v.showVersion(ctx, m, r)
}

// DeleteVersion deletes a version and releases its checkpoint. The version number is not reused. It
// returns NotFound or PermissionDenied.
func (v *versions) DeleteVersion(ctx context.Context, by *apiv1.User, identifier string, number int32) error {
	v.change.Lock()
	defer v.change.Unlock()
	m, err := v.findOwn(by, identifier)
	if err != nil {
		return err
	}
	m, r, err := v.findVersion(ctx, modelID(m.ID), number)
	if err != nil {
		return err
	}
	m.Versions, m.Updated = m.Versions-1, v.cfg.Now().UTC()
	return v.store(ctx, m, func(tx *store.Tx) error { return dropVersion(tx, m, r) })
}

func (v *versions) findVersion(ctx context.Context, identifier string, number int32) (modelRecord, versionRecord, error) {
	m, err := v.find(identifier)
	if err != nil {
		return m, versionRecord{}, err
	}
	doc, found, err := versionDocs.Get(ctx, v.cfg.Store, versionID(m.ID, number))
	if err == nil && !found {
		err = status.New(status.NotFound, "version '%s' of model '%s' not found", strconv.Itoa(int(number)), m.Name)
	}
	return m, doc.Value, err
}

// applyVersion applies a patch to r.
func applyVersion(r *versionRecord, p *apiv1.PatchModelVersion) (err error) {
	for _, text := range []struct {
		key      string
		to, from *string
	}{{"name", &r.Name, p.Name}, {"comment", &r.Comment, p.Comment}, {"notes", &r.Notes, p.Notes}} {
		if err := applyText(text.key, text.to, text.from); err != nil {
			return err
		}
	}
	if p.Metadata != nil {
		if r.Metadata, err = encodeMetadata(p.GetMetadata()); err != nil {
			return err
		}
	}
	if p.Labels != nil {
		r.Labels, err = readLabels(p.GetLabels())
	}
	return err
}
