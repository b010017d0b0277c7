package workspace

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/internal/document/naming"
	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	expconf "github.com/det-deploy/det-deploy/master/experiment/config"
	"github.com/det-deploy/det-deploy/master/store"
)

// spaces creates and changes workspaces.
type spaces struct {
	*shared

	views *views
}

// Create creates a workspace of a user and pins it for the user. It returns InvalidArgument,
// AlreadyExists, ResourceExhausted, PermissionDenied for a Unix account, or Unimplemented for
// Kubernetes namespaces.
func (s *spaces) Create(ctx context.Context, by *apiv1.User, in *apiv1.PostWorkspaceRequest) (*apiv1.Workspace, error) {
	if len(in.GetClusterNamespaceMeta()) > 0 || len(in.GetClusterQuotaPairs()) > 0 {
		return nil, refuseNamespaces()
	}
	s.change.Lock()
	defer s.change.Unlock()
	have, _ := s.table.countOf(by.GetId())
	if err := CheckCount(by, have, "workspaces"); err != nil {
		return nil, err
	}
	now := s.cfg.Now().UTC()
	w := workspaceRecord{UserID: by.GetId(), Created: now, Pinned: map[int32]time.Time{by.GetId(): now}}
	err := s.apply(by, &w, &apiv1.PatchWorkspace{
		Name: &in.Name, AgentUserGroup: in.GetAgentUserGroup(), CheckpointStorageConfig: in.GetCheckpointStorageConfig(),
		DefaultComputePool: &in.DefaultComputePool, DefaultAuxPool: &in.DefaultAuxPool,
	})
	if err == nil {
		err = s.setMembers(&w, in.GetMemberIds())
	}
	if err != nil {
		return nil, err
	}
	w.ID = s.table.nextID(workspaceCounter)
	return s.write(ctx, by, w, func(tx *store.Tx) error {
		return counters.Put(tx, workspaceCounter, "", now, counter{Last: w.ID})
	})
}

// Patch changes the fields that are set in p. It returns the errors of Create, NotFound or
// FailedPrecondition.
func (s *spaces) Patch(ctx context.Context, by *apiv1.User, id int32, p *apiv1.PatchWorkspace) (*apiv1.Workspace, error) {
	if len(p.GetClusterNamespaceMeta()) > 0 {
		return nil, refuseNamespaces()
	}
	s.change.Lock()
	defer s.change.Unlock()
	w, err := s.findOwn(by, id)
	if err != nil {
		return nil, err
	}
	if err := w.checkEditable(); err != nil {
		return nil, err
	}
	if err := s.apply(by, &w, p); err != nil {
		return nil, err
	}
	return s.write(ctx, by, w, nil)
}

// SetArchived archives or unarchives a workspace with its content. It returns NotFound,
// PermissionDenied or FailedPrecondition.
func (s *spaces) SetArchived(ctx context.Context, by *apiv1.User, id int32, archived bool) error {
	s.change.Lock()
	defer s.change.Unlock()
	w, err := s.findOwn(by, id)
	if err != nil {
		return err
	}
	if w.Deletion == deleting {
		return w.checkOpen()
	}
	w.Archived = archived
	_, err = s.write(ctx, by, w, nil)
	return err
}

// SetPinned pins or unpins a workspace for a user. It returns NotFound if the workspace does not
// exist.
func (s *spaces) SetPinned(ctx context.Context, by *apiv1.User, id int32, pinned bool) error {
	s.change.Lock()
	defer s.change.Unlock()
	old, found := s.table.findWorkspace(id)
	if !found {
		return missingWorkspace(id)
	}
	w := old.workspaceRecord
	if w.Pinned = maps.Clone(w.Pinned); w.Pinned == nil {
		w.Pinned = map[int32]time.Time{}
	}
	if _, already := w.Pinned[by.GetId()]; pinned && !already {
		w.Pinned[by.GetId()] = s.cfg.Now().UTC()
	}
	if !pinned {
		delete(w.Pinned, by.GetId())
	}
	_, err := s.write(ctx, by, w, nil)
	return err
}

// write stores a workspace, and other changes of the same transaction if also is not nil. The caller
// holds s.change.
func (s *spaces) write(ctx context.Context, by *apiv1.User, w workspaceRecord, also func(*store.Tx) error) (*apiv1.Workspace, error) {
	err := s.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		var err error
		if also != nil {
			err = also(tx)
		}
		return errors.Join(err, putWorkspace(tx, w))
	})
	if err != nil {
		return nil, err
	}
	if err := s.table.keepWorkspace(w); err != nil {
		return nil, err
	}
	return s.views.Get(by, w.ID)
}

// apply applies a patch to w.
func (s *spaces) apply(by *apiv1.User, w *workspaceRecord, p *apiv1.PatchWorkspace) error {
	if p.Name != nil && (w.ID == 0 || p.GetName() != w.Name) {
		if err := s.checkWorkspaceName(p.GetName(), w.ID); err != nil {
			return err
		}
		w.Name = p.GetName()
	}
	if err := applyAccount(by, w, p.GetAgentUserGroup()); err != nil {
		return err
	}
	if err := s.applyStorage(w, p.GetCheckpointStorageConfig()); err != nil {
		return err
	}
	if err := s.applyMembers(w, p.GetMemberIds()); err != nil {
		return err
	}
	for _, pool := range []struct {
		key  string
		to   *string
		want []*string
	}{
		{"default_compute_pool", &w.Compute, []*string{p.DefaultComputePool, p.DefaultComputeResourcePool}},
		{"default_aux_pool", &w.Aux, []*string{p.DefaultAuxPool, p.DefaultAuxResourcePool}},
	} {
		for _, name := range pool.want {
			if err := s.applyPool(pool.key, pool.to, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// applyAccount sets the Unix account, of which parts may be missing, unless g is nil. It returns
// PermissionDenied if the user is not an administrator.
func applyAccount(by *apiv1.User, w *workspaceRecord, g *apiv1.AgentUserGroup) error {
	if g == nil {
		return nil
	}
	a := Account{UID: g.AgentUid, GID: g.AgentGid, User: g.AgentUser, Group: g.AgentGroup}
	switch {
	case a.equal(w.Unix):
		return nil
	case !by.GetAdmin():
		return status.New(status.PermissionDenied, "agentUserGroup: only administrators may set the Unix account of tasks")
	case a.UID != nil && *a.UID < 0 || a.GID != nil && *a.GID < 0:
		return status.New(status.InvalidArgument, "agentUserGroup: IDs must not be negative (%d, %d)", g.GetAgentUid(), g.GetAgentGid())
	case a.User != nil && *a.User == "" || a.Group != nil && *a.Group == "":
		return status.New(status.InvalidArgument, "agentUserGroup: agentUser and agentGroup must not be empty; leave them out")
	}
	w.Unix = a
	return nil
}

// applyStorage sets the storage unless in is nil. An empty storage removes it. It returns
// InvalidArgument if tasks may not mount the storage.
func (s *spaces) applyStorage(w *workspaceRecord, in *structpb.Struct) error {
	if in == nil {
		return nil
	}
	if len(in.GetFields()) == 0 {
		w.Storage = ""
		return nil
	}
	data, err := in.MarshalJSON()
	if err != nil {
		return status.New(status.InvalidArgument, "checkpointStorageConfig: %v", err)
	}
	storage, err := expconf.DecodeStorage(data)
	if err != nil {
		return status.New(status.InvalidArgument, "checkpointStorageConfig: %v", err)
	}
	// Clients receive the storage without secrets. If they send the same one back, it does not
	// change.
	if old, err := w.loadStorage(); err == nil && old != nil && !storage.HasSecrets() && reflect.DeepEqual(old.Show(), storage.Show()) {
		return nil
	}
	if s.cfg.CheckStorage != nil {
		if err := s.cfg.CheckStorage(storage); err != nil {
			return status.New(status.InvalidArgument, "checkpointStorageConfig.%v", err)
		}
	}
	text, err := document.MarshalWithSecrets(storage)
	w.Storage = string(text)
	return err
}

// applyPool sets the name of a resource pool unless name is nil. An empty name means the cluster's
// default.
func (s *spaces) applyPool(key string, to, name *string) error {
	if name == nil {
		return nil
	}
	if known := s.poolNames(); *name != "" && *name != *to && known != nil && !slices.Contains(known, *name) {
		hint := ""
		if near := naming.Nearest(*name, known); near != "" {
			hint = "; did you mean '" + near + "'?"
		}
		return status.New(status.InvalidArgument, "%s: resource pool '%s' not found%s", key, *name, hint)
	}
	*to = *name
	return nil
}

// checkEditable returns FailedPrecondition if the workspace is archived or being deleted.
func (w workspaceRecord) checkEditable() error {
	if err := w.checkOpen(); err != nil {
		return status.New(status.FailedPrecondition, "%v", err)
	}
	return nil
}

func refuseNamespaces() error {
	return status.New(status.Unimplemented,
		"setting the namespace or quota of a workspace is not built in this version of det-deploy; tasks run in the namespace of the chart")
}
