package program

import (
	"cmp"
	"path"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	masterconfig "github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/experiment/config"
)

// sharedFS is the container path at which the library expects the host_path of a shared_fs storage.
const sharedFS = "/determined_shared_fs"

// Source is a checkpoint that a trial starts from.
type Source struct {
	UUID string
	// Storage is the storage of the checkpoint.
	Storage config.Storage
}

// storageMounts mounts the experiment's directory of a shared_fs storage at the path that the
// library expects. Experiments of earlier versions have no directory; their tasks mount the whole
// storage.
func storageMounts(s config.Storage) []*agentv1.Mount {
	shared := s.Typed().SharedFS
	if shared == nil {
		return nil
	}
	m := &agentv1.Mount{
		HostPath: path.Clean(shared.HostPath), ContainerPath: sharedFS, Propagation: propagationOf(shared), Storage: path.Clean(shared.HostPath),
	}
	if s.OwnDirectory() != "" {
		m.HostPath, m.ContainerPath = shared.Directory(), path.Join(sharedFS, shared.Inside())
	}
	return []*agentv1.Mount{m}
}

// mounts mounts a checkpoint of another shared_fs directory, read-only, below the experiment's
// directory, where the library looks for it.
func (c Source) mounts(own config.Storage) []*agentv1.Mount {
	to, from := own.Typed().SharedFS, c.Storage.Typed().SharedFS
	if c.UUID == "" || to == nil || from == nil || own.OwnDirectory() == "" || to.Directory() == from.Directory() {
		return nil
	}
	return []*agentv1.Mount{{
		HostPath: path.Join(from.Directory(), c.UUID), ContainerPath: path.Join(sharedFS, to.Inside(), c.UUID),
		ReadOnly: true, Propagation: propagationOf(from), Storage: from.Directory(),
	}}
}

func propagationOf(s *masterconfig.SharedFSStorage) string { return cmp.Or(s.Propagation, "rprivate") }
