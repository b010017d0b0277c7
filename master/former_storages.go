package master

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/config/container"
	experimentconfig "github.com/det-deploy/det-deploy/master/experiment/config"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/policy"
	"github.com/det-deploy/det-deploy/master/store"
)

// sharedDirectory is a directory that was configured as checkpoint_storage of type shared_fs.
type sharedDirectory struct {
	Path   string `json:"path"`
	Shared bool   `json:"shared,omitempty"`
}

func sharedDirectories() store.Collection[sharedDirectory] {
	return store.Collection[sharedDirectory]{Kind: "shared_storage"}
}

// formerMounts stores the cluster's current checkpoint directory, and returns earlier ones that
// experiments still use. An experiment keeps the storage of its creation, so its mount stays
// allowed. formerMounts forgets directories that no experiment uses.
func (m *Master) formerMounts(ctx context.Context) ([]policy.HostPath, error) {
	current := sharedDirectoryOf(m.parts.Config.CheckpointStorage)
	docs, err := sharedDirectories().All(ctx, m.store)
	if err != nil {
		return nil, fmt.Errorf("read earlier checkpoint storages: %w", err)
	}
	var former []sharedDirectory
	known := false
	for _, d := range docs {
		if d.Value.Path == current.Path {
			known = d.Value == current
		} else {
			former = append(former, d.Value)
		}
	}
	users, err := m.usersOf(ctx, former)
	if err != nil {
		return nil, err
	}
	var out []policy.HostPath
	err = m.store.Write(ctx, func(tx *store.Tx) error {
		out = nil
		for _, d := range former {
			if len(users[d.Path]) == 0 {
				if err := sharedDirectories().Delete(tx, d.Path); err != nil {
					return err
				}
				continue
			}
			out = append(out, policy.HostPath{Path: d.Path, Shared: d.Shared})
		}
		if known || current.Path == "" {
			return nil
		}
		return sharedDirectories().Put(tx, current.Path, "", time.Time{}, current)
	})
	if err != nil {
		return nil, fmt.Errorf("store the checkpoint storage: %w", err)
	}
	for _, h := range out {
		m.log.Warn("experiments keep the checkpoint storage that they were created with; keep its directory until they are deleted", "host_path", h.Path, "experiments", firstIDs(users[h.Path]))
	}
	return out, nil
}

// firstIDs lists the first experiments by ID and the number of others.
func firstIDs(ids []int32) string {
	const most = 10
	var out []string
	for _, id := range slices.Sorted(slices.Values(ids)) {
		if len(out) == most {
			return fmt.Sprintf("%s and %d more", strings.Join(out, ", "), len(ids)-most)
		}
		out = append(out, strconv.Itoa(int(id)))
	}
	return strings.Join(out, ", ")
}

func sharedDirectoryOf(s *config.CheckpointStorage) sharedDirectory {
	if s == nil || s.SharedFS == nil {
		return sharedDirectory{}
	}
	return sharedDirectory{Path: s.SharedFS.HostPath, Shared: container.IsShared(s.SharedFS.Propagation)}
}

// usersOf returns the experiments that use one of the directories, by directory. It reads nothing
// if the cluster has had only one storage.
func (m *Master) usersOf(ctx context.Context, all []sharedDirectory) (map[string][]int32, error) {
	users := make(map[string][]int32)
	if len(all) == 0 {
		return users, nil
	}
	configs, err := record.Docs().Configs.All(ctx, m.store)
	if err != nil {
		return nil, fmt.Errorf("read the experiments of earlier checkpoint storages: %w", err)
	}
	for _, c := range configs {
		id, err := record.ReadKey(c.ID)
		if err != nil {
			return nil, err
		}
		for _, d := range all {
			uses, err := keepsCheckpointsIn(c.Value.Complete, d.Path)
			if err != nil {
				return nil, fmt.Errorf("experiment %d: %w", id, err)
			}
			if uses {
				users[d.Path] = append(users[d.Path], id)
			}
		}
	}
	return users, nil
}

// keepsCheckpointsIn reports whether an experiment's complete configuration has a directory as its
// checkpoint storage. It decodes only configurations that contain the path anywhere.
func keepsCheckpointsIn(complete []byte, dir string) (bool, error) {
	if !bytes.Contains(complete, []byte(dir)) {
		return false, nil
	}
	x, err := experimentconfig.Load(complete)
	if err != nil {
		return false, err
	}
	path := x.CheckpointStorage.HostPath
	return path != nil && *path == dir, nil
}
