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

// spaces makes and changes workspaces.
type spaces struct {
	*shared

	views *views
}

// Create makes a workspace of by, who has it pinned. The errors have the codes
// InvalidArgument, AlreadyExists, ResourceExhausted, PermissionDenied for a Unix account, and
// Unimplemented for namespaces of Kubernetes.
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

// Patch changes what p names. The errors are those of Create, and NotFound and
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

// SetArchived archives a workspace, with all that is in it, or takes that back. The errors
// have the codes NotFound, PermissionDenied and FailedPrecondition.
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

// SetPinned puts a workspace among those that by sees first, or takes it out. The error has
// the code NotFound.
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

// write stores a workspace, with what else belongs to the change; nil is nothing. The caller
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

// apply changes w as p says.
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
	if err := applyStorage(w, p.GetCheckpointStorageConfig()); err != nil {
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

// applyAccount takes over a Unix account, whose parts may be left out; nil changes nothing.
func applyAccount(by *apiv1.User, w *workspaceRecord, g *apiv1.AgentUserGroup) error {
	if g == nil {
		return nil
	}
	a := Account{UID: g.AgentUid, GID: g.AgentGid, User: g.AgentUser, Group: g.AgentGroup}
	switch {
	case a.equal(w.Unix):
		return nil
	case !by.GetAdmin():
		return status.New(status.PermissionDenied, "agentUserGroup: only administrators may say as which Unix account tasks run")
	case a.UID != nil && *a.UID < 0 || a.GID != nil && *a.GID < 0:
		return status.New(status.InvalidArgument, "agentUserGroup: ids must not be negative (%d, %d)", g.GetAgentUid(), g.GetAgentGid())
	case a.User != nil && *a.User == "" || a.Group != nil && *a.Group == "":
		return status.New(status.InvalidArgument, "agentUserGroup: agentUser and agentGroup must not be empty; leave them out")
	}
	w.Unix = a
	return nil
}

// applyStorage takes over a storage; an empty one takes the storage away, nil changes nothing.
func applyStorage(w *workspaceRecord, in *structpb.Struct) error {
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
	// What clients are shown has no secrets; sent back, it changes nothing.
	if old, err := w.loadStorage(); err == nil && old != nil && !storage.HasSecrets() && reflect.DeepEqual(old.Show(), storage.Show()) {
		return nil
	}
	text, err := document.MarshalWithSecrets(storage)
	w.Storage = string(text)
	return err
}

// applyPool takes over the name of a pool; an empty one is the cluster's, nil changes nothing.
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

// checkEditable refuses to change a workspace that is archived or being deleted.
func (w workspaceRecord) checkEditable() error {
	if err := w.checkOpen(); err != nil {
		return status.New(status.FailedPrecondition, "%v", err)
	}
	return nil
}

func refuseNamespaces() error {
	return status.New(status.Unimplemented,
		"giving a workspace a namespace or a quota is not built in this version of det-deploy; tasks run in the namespace that the chart names")
}
