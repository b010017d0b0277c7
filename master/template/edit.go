package template

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/internal/document/naming"
	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/workspace"
)

const (
	// nameLimit keeps names printable in tables, in characters.
	nameLimit = 128
	// configLimit is in bytes, far above any handwritten configuration.
	configLimit = 1 << 20
)

// Create creates a template owned by by, in the first workspace if in names none. It returns an
// error of code InvalidArgument, AlreadyExists or ResourceExhausted, or for the workspace NotFound
// or FailedPrecondition.
func (t *Templates) Create(ctx context.Context, by *apiv1.User, in *apiv1.Template) (*apiv1.Template, error) {
	if err := checkName(in.GetName()); err != nil {
		return nil, err
	}
	config, err := encodeConfig(in.GetConfig())
	if err != nil {
		return nil, err
	}
	r := record{
		Name: in.GetName(), Config: config, WorkspaceID: in.GetWorkspaceId(), UserID: by.GetId(), Created: t.cfg.Now().UTC(),
	}
	if r.WorkspaceID == 0 {
		r.WorkspaceID = workspace.First
	}
	t.change.Lock()
	defer t.change.Unlock()
	if err := t.checkFree(r.Name); err != nil {
		return nil, err
	}
	if err := workspace.CheckCount(by, t.countOf(by.GetId()), "templates"); err != nil {
		return nil, err
	}
	return t.write(ctx, by, r, func(tx *store.Tx) error { return t.cfg.Workspaces.CheckWorkspace(ctx, tx, r.WorkspaceID) })
}

// Put creates a template, or changes the configuration of the template of that name. It returns the
// errors of Create and of SetConfig.
func (t *Templates) Put(ctx context.Context, by *apiv1.User, in *apiv1.Template) (*apiv1.Template, error) {
	if _, err := t.find(in.GetName()); status.Of(err) == status.NotFound {
		return t.Create(ctx, by, in)
	}
	return t.SetConfig(ctx, by, in.GetName(), in.GetConfig())
}

// SetConfig changes the configuration of a template. It returns an error of code NotFound,
// PermissionDenied or InvalidArgument.
func (t *Templates) SetConfig(ctx context.Context, by *apiv1.User, name string, config *structpb.Struct) (*apiv1.Template, error) {
	encoded, err := encodeConfig(config)
	if err != nil {
		return nil, err
	}
	t.change.Lock()
	defer t.change.Unlock()
	r, err := t.findOwn(by, name)
	if err != nil {
		return nil, err
	}
	r.Config = encoded
	return t.write(ctx, by, r, nil)
}

// Rename renames a template. It returns an error of code NotFound, PermissionDenied,
// InvalidArgument or AlreadyExists.
func (t *Templates) Rename(ctx context.Context, by *apiv1.User, name, to string) (*apiv1.Template, error) {
	if err := checkName(to); err != nil {
		return nil, err
	}
	t.change.Lock()
	defer t.change.Unlock()
	r, err := t.findOwn(by, name)
	if err != nil || name == to {
		return t.show(by, r), err
	}
	if err := t.checkFree(to); err != nil {
		return nil, err
	}
	r.Name = to
	out, err := t.write(ctx, by, r, func(tx *store.Tx) error { return records.Delete(tx, name) })
	if err == nil {
		t.drop(name)
	}
	return out, err
}

// Delete deletes a template. It returns an error of code NotFound or PermissionDenied.
func (t *Templates) Delete(ctx context.Context, by *apiv1.User, name string) error {
	t.change.Lock()
	defer t.change.Unlock()
	if _, err := t.findOwn(by, name); err != nil {
		return err
	}
	return t.remove(ctx, name)
}

// remove deletes a template. The caller holds t.change.
func (t *Templates) remove(ctx context.Context, name string) error {
	err := t.cfg.Store.Write(ctx, func(tx *store.Tx) error { return records.Delete(tx, name) })
	if err == nil {
		t.drop(name)
	}
	return err
}

// write stores a template, with the changes of also unless that is nil. The caller holds t.change.
func (t *Templates) write(ctx context.Context, by *apiv1.User, r record, also func(*store.Tx) error) (*apiv1.Template, error) {
	err := t.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		var err error
		if also != nil {
			err = also(tx)
		}
		return errors.Join(err, records.Put(tx, r.Name, parentOf(r.WorkspaceID), r.Created, r))
	})
	if err != nil {
		return nil, err
	}
	t.keep(r)
	return t.show(by, r), nil
}

func parentOf(workspaceID int32) string { return strconv.Itoa(int(workspaceID)) }

// findOwn returns a template that by may change.
func (t *Templates) findOwn(by *apiv1.User, name string) (record, error) {
	r, err := t.find(name)
	if err != nil || t.mayChange(by, r) {
		return r, err
	}
	return r, status.New(status.PermissionDenied,
		"template '%s' belongs to another user; only its owner, the owner of its workspace and administrators may change it", name)
}

func (t *Templates) mayChange(by *apiv1.User, r record) bool {
	if by.GetAdmin() || by.GetId() == r.UserID {
		return true
	}
	w, err := t.cfg.Workspaces.Workspace(r.WorkspaceID)
	return err == nil && w.IsOwnedBy(by)
}

func (t *Templates) checkFree(name string) error {
	if _, err := t.find(name); err == nil {
		return status.New(status.AlreadyExists, "template '%s' already exists; choose another name, or change its configuration", name)
	}
	return nil
}

func checkName(name string) error {
	if name == "" {
		return status.New(status.InvalidArgument, "name: is required")
	}
	if n := len([]rune(name)); n > nameLimit || !naming.IsPrintable(name) {
		return status.New(status.InvalidArgument, "name: must have at most %d characters, and %s (%.64q)", nameLimit, naming.PrintableRule, name)
	}
	if naming.IsDots(name) {
		return status.New(status.InvalidArgument, "name: must %s (%q)", naming.DotsRule, name)
	}
	return nil
}

func encodeConfig(config *structpb.Struct) ([]byte, error) {
	if config == nil {
		config = &structpb.Struct{}
	}
	b, err := config.MarshalJSON()
	if err != nil {
		return nil, status.New(status.InvalidArgument, "config: cannot be kept as JSON: %v", err)
	}
	if len(b) > configLimit {
		return nil, status.New(status.InvalidArgument, "config: has %d bytes; a template has at most %d", len(b), configLimit)
	}
	return b, nil
}

// decodeConfig is the inverse of encodeConfig.
func decodeConfig(b []byte) (*structpb.Struct, error) {
	out := &structpb.Struct{}
	if err := out.UnmarshalJSON(b); err != nil {
		return nil, fmt.Errorf("read a template's configuration: %w", err)
	}
	return out, nil
}
