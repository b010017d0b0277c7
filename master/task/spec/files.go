package spec

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// The tar type bytes that API files use.
const (
	typeFile      = '0'
	typeDirectory = '5'
)

// buildFiles returns the files that every container gets before it starts: det-deploy's directories and the
// program's files, owned by the account the program runs as, and an entry for that account in the files where
// images look names up.
func buildFiles(r Run) []*apiv1.File {
	uid, gid := int32(r.User.UID), int32(r.User.GID)
	directory := func(path string, mode uint32) *apiv1.File {
		return &apiv1.File{Path: path, Type: typeDirectory, Mode: mode, Uid: uid, Gid: gid}
	}
	out := []*apiv1.File{
		directory(RunDir, 0o700),
		directory(RunDir+"/info", 0o755),
		directory(RunDir+"/pythonuserbase", 0o700),
	}
	if r.Config.WorkDir == DefaultWorkDir {
		out = append(out, directory(DefaultWorkDir, 0o700))
	}
	if r.FixedPaths {
		// The scripts of experiments create missing ones; each program less makes the start quicker.
		out = append(out, directory(RunDir+"/train", 0o755), directory(RunDir+"/train/logs", 0o755), directory(RunDir+"/train/model", 0o755))
	}
	for _, f := range r.Files {
		f = proto.CloneOf(f)
		f.Uid, f.Gid = uid, gid // the program may have to read files that no one else may
		out = append(out, f)
	}
	if uid == 0 {
		return out
	}
	root := func(name string, mode uint32, format string, args ...any) *apiv1.File {
		return &apiv1.File{
			Path: RunDir + "/etc/" + name, Type: typeFile, Mode: mode, Content: fmt.Appendf(nil, format, args...),
		}
	}
	return append(out,
		&apiv1.File{Path: RunDir + "/etc", Type: typeDirectory, Mode: 0o755},
		root("passwd", 0o644, "%s:x:%d:%d::%s:/bin/sh\n", r.User.User, uid, gid, DefaultWorkDir),
		root("shadow", 0o600, "%s:!!:::::::\n", r.User.User),
		root("group", 0o644, "%s:x:%d:\n", r.User.Group, gid),
	)
}

// infoFiles returns files with the information about its placement that only the master has; the runtime
// of the container adds the rest. Only the task's user may read them. For several containers the
// addresses are unknown yet, and each container requests them.
func infoFiles(r Run, containers []rm.Container) []*apiv1.File {
	var out []*apiv1.File
	add := func(path string, content []byte) {
		out = append(out, &apiv1.File{
			Path: path, Type: typeFile, Mode: 0o600, Content: content, Uid: int32(r.User.UID), Gid: int32(r.User.GID),
		})
	}
	if len(containers) == 1 {
		add(agentv1.RendezvousInfoPath, agentv1.RendezvousInfo([]string{loopback}, 0, []int{len(containers[0].Devices)}))
	}
	if len(containers) > 1 && r.FixedPaths {
		out = append(out, sshFiles(r, int32(r.User.UID), int32(r.User.GID))...)
	}
	if len(r.TrialInfo) > 0 {
		add(agentv1.TrialInfoPath, r.TrialInfo)
	}
	return out
}

// loopback is the address of an allocation's only container.
const loopback = "127.0.0.1"
