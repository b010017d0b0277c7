package model

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/internal/document/naming"
	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/checkpoint"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/workspace"
)

// edits creates and changes models.
type edits struct{ *shared }

// Create creates a model of a user. The default workspace is workspace.First. It returns
// InvalidArgument, AlreadyExists or ResourceExhausted, or NotFound if the workspace does not accept
// models.
func (e *edits) Create(ctx context.Context, by *apiv1.User, in *apiv1.PostModelRequest) (*apiv1.Model, error) {
	e.change.Lock()
	defer e.change.Unlock()
	if err := workspace.CheckCount(by, e.table.countOf(by.GetId()), "models"); err != nil {
		return nil, err
	}
	now := e.cfg.Now().UTC()
	m := modelRecord{WorkspaceID: workspace.First, UserID: by.GetId(), Created: now, Updated: now}
	p := &apiv1.PatchModel{
		Name: &in.Name, Description: &in.Description, Notes: &in.Notes, Metadata: in.GetMetadata(),
		WorkspaceName: optional(in.GetWorkspaceName()), WorkspaceId: optional(in.GetWorkspaceId()),
	}
	if err := e.apply(&m, p); err != nil {
		return nil, err
	}
	var err error
	if m.Labels, err = checkLabels(in.GetLabels()); err != nil {
		return nil, err
	}
	m.ID, _ = e.table.nextIDs()
	err = e.store(ctx, m, func(tx *store.Tx) error {
		return errors.Join(e.cfg.Workspaces.CheckWorkspace(ctx, tx, m.WorkspaceID), counters.Put(tx, modelCounter, "", now, counter{Last: m.ID}))
	})
	if err != nil {
		return nil, err
	}
	return e.show(m), nil
}

// Patch changes the fields that are set in p, including the workspace. It returns the errors of
// Create, NotFound, PermissionDenied or FailedPrecondition.
func (e *edits) Patch(ctx context.Context, by *apiv1.User, identifier string, p *apiv1.PatchModel) (*apiv1.Model, error) {
	e.change.Lock()
	defer e.change.Unlock()
	m, err := e.findOpen(by, identifier)
	if err != nil {
		return nil, err
	}
	before := m
	if err := e.apply(&m, p); err != nil {
		return nil, err
	}
	m.Updated = e.cfg.Now().UTC()
	err = e.store(ctx, m, func(tx *store.Tx) error {
		if m.WorkspaceID != before.WorkspaceID {
			if err := e.cfg.Workspaces.CheckWorkspace(ctx, tx, m.WorkspaceID); err != nil {
				return err
			}
		}
		if m.Name == before.Name {
			return nil
		}
		return renameReferences(ctx, tx, m)
	})
	if err != nil {
		return nil, err
	}
	return e.show(m), nil
}

// renameReferences updates the model's name in the references to its checkpoints.
func renameReferences(ctx context.Context, tx *store.Tx, m modelRecord) error {
	docs, err := versionDocs.ByParent(ctx, tx, modelID(m.ID))
	if err != nil {
		return err
	}
	for _, d := range docs {
		if _, err := checkpoint.Refer(ctx, tx, checkpoint.VersionOf(m.ID, m.Name, d.Value.Version), d.Value.Checkpoint); err != nil {
			return err
		}
	}
	return nil
}

// SetArchived archives or unarchives a model. An archived model accepts no versions. It returns
// NotFound or PermissionDenied.
func (e *edits) SetArchived(ctx context.Context, by *apiv1.User, identifier string, archived bool) error {
	e.change.Lock()
	defer e.change.Unlock()
	m, err := e.findOwn(by, identifier)
	if err != nil {
		return err
	}
	m.Archived, m.Updated = archived, e.cfg.Now().UTC()
	return e.store(ctx, m, nil)
}

// Delete deletes a model with its versions and releases their checkpoints. It returns NotFound or
// PermissionDenied.
func (e *edits) Delete(ctx context.Context, by *apiv1.User, identifier string) error {
	e.change.Lock()
	defer e.change.Unlock()
	m, err := e.findOwn(by, identifier)
	if err != nil {
		return err
	}
	err = e.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		docs, err := versionDocs.ByParent(ctx, tx, modelID(m.ID))
		for _, d := range docs {
			err = errors.Join(err, dropVersion(tx, m, d.Value))
		}
		return errors.Join(err, modelDocs.Delete(tx, modelID(m.ID)))
	})
	if err == nil {
		e.table.drop(m.ID)
	}
	return err
}

// dropVersion deletes a version and releases its checkpoint.
func dropVersion(tx *store.Tx, m modelRecord, v versionRecord) error {
	return errors.Join(
		checkpoint.Release(tx, checkpoint.VersionOf(m.ID, m.Name, v.Version)),
		versionDocs.Delete(tx, versionID(m.ID, v.Version)))
}

// CheckDelete returns FailedPrecondition if a workspace has models, because other users may rely on
// them.
func (e *edits) CheckDelete(workspaceID int32) error {
	var names []string
	for _, m := range e.table.list() {
		if m.WorkspaceID == workspaceID {
			names = append(names, "'"+m.Name+"'")
		}
	}
	if len(names) == 0 {
		return nil
	}
	return status.New(status.FailedPrecondition, "the workspace has models: %s; move them with `det-deploy model move`, or delete them",
		excerpt.Of(strings.Join(names, ", ")))
}

// DeleteAll returns the error of CheckDelete, because a model may have been created since.
func (e *edits) DeleteAll(_ context.Context, _ *apiv1.User, workspaceID int32) error {
	return e.CheckDelete(workspaceID)
}

// apply applies a patch to m.
func (e *edits) apply(m *modelRecord, p *apiv1.PatchModel) (err error) {
	if p.Name != nil && (m.ID == 0 || p.GetName() != m.Name) {
		if err := e.checkName(p.GetName(), m.ID); err != nil {
			return err
		}
		m.Name = p.GetName()
	}
	if err := applyText("description", &m.Description, p.Description); err != nil {
		return err
	}
	if err := applyText("notes", &m.Notes, p.Notes); err != nil {
		return err
	}
	if p.Metadata != nil {
		if m.Metadata, err = encodeMetadata(p.GetMetadata()); err != nil {
			return err
		}
	}
	if p.Labels != nil {
		if m.Labels, err = readLabels(p.GetLabels()); err != nil {
			return err
		}
	}
	return e.applyWorkspace(m, p)
}

// applyWorkspace sets the workspace if the patch names one.
func (e *edits) applyWorkspace(m *modelRecord, p *apiv1.PatchModel) error {
	var w workspace.Workspace
	var err error
	switch {
	case p.WorkspaceName != nil:
		w, err = e.cfg.Workspaces.WorkspaceNamed(p.GetWorkspaceName())
	case p.WorkspaceId != nil:
		w, err = e.cfg.Workspaces.Workspace(p.GetWorkspaceId())
	default:
		return nil
	}
	m.WorkspaceID = w.ID
	return err
}

const (
	// nameLimit is in bytes.
	nameLimit = 255
	// textLimit limits the size of descriptions, comments and notes in bytes.
	textLimit = 64 << 10
	// mostLabels and labelLimit, in bytes, limit the size of lists.
	mostLabels = 100
	labelLimit = 255
)

// checkName returns an error if a name is a number, contains a slash, or resembles the name of
// another model.
func (e *edits) checkName(name string, id int32) error {
	switch {
	case strings.TrimSpace(name) == "" || strings.TrimSpace(name) != name || strings.Contains(name, "  "):
		return status.New(status.InvalidArgument, "name: must not be empty, start or end with a blank, or have consecutive blanks (%q)", excerpt.Of(name))
	case len(name) > nameLimit || !naming.IsPrintable(name):
		return status.New(status.InvalidArgument, "name: must have at most %d bytes, and %s (%.64q)", nameLimit, naming.PrintableRule, name)
	case naming.IsDots(name):
		return status.New(status.InvalidArgument, "name: must %s (%q)", naming.DotsRule, name)
	case strings.ContainsAny(name, `/\`):
		return status.New(status.InvalidArgument, "name: must not contain slashes (%q)", name)
	case strings.Trim(name, "0123456789") == "":
		return status.New(status.InvalidArgument, "name: must not be a number, because models also have numeric IDs (%q)", name)
	}
	if m, found := e.table.findLook(name); found && m.ID != id {
		return status.New(status.AlreadyExists, "model '%s' already exists; choose another name", m.Name)
	}
	return nil
}

// applyText sets a text unless from is nil.
func applyText(key string, to, from *string) error {
	if from == nil {
		return nil
	}
	if len(*from) > textLimit {
		return status.New(status.InvalidArgument, "%s: must have at most %d bytes (has %d)", key, textLimit, len(*from))
	}
	*to = *from
	return nil
}

func readLabels(list *structpb.ListValue) ([]string, error) {
	var labels []string
	for i, v := range list.GetValues() {
		text, ok := v.GetKind().(*structpb.Value_StringValue)
		if !ok {
			return nil, status.New(status.InvalidArgument, "labels[%d]: must be a string", i)
		}
		labels = append(labels, text.StringValue)
	}
	return checkLabels(labels)
}

// checkLabels returns the labels without duplicates, in the given order.
func checkLabels(in []string) ([]string, error) {
	var out []string
	seen := map[string]bool{}
	for i, l := range in {
		if l == "" || len(l) > labelLimit || !naming.IsPrintable(l) {
			return nil, status.New(status.InvalidArgument, "labels[%d]: must have 1 to %d bytes, and %s (%.64q)", i, labelLimit, naming.PrintableRule, l)
		}
		if !seen[l] {
			seen[l], out = true, append(out, l)
		}
	}
	if len(out) > mostLabels {
		return nil, status.New(status.InvalidArgument, "labels: must have at most %d labels (has %d)", mostLabels, len(out))
	}
	return out, nil
}

// optional returns a pointer to v, or nil if v is the zero value.
func optional[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
