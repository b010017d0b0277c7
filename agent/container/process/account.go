package process

import (
	"cmp"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/container"
)

// account is the user of a runc task.
type account struct {
	container.User

	// claimed is true for a user of Accounts, which is reused by later tasks.
	claimed bool
	// groups are supplementary groups for access to GPUs.
	groups []uint32
	// umask is the task's umask, or nil for the agent's.
	umask *uint32
	// rootless is true for the agent's own user, mapped to root in a user namespace.
	rootless bool
}

// inside returns the account as seen by the task.
func (a account) inside() specs.User {
	if a.rootless {
		return specs.User{}
	}
	return specs.User{UID: uint32(a.UID), GID: uint32(a.GID), AdditionalGids: a.groups, Umask: a.umask}
}

// ownAccount returns the agent's own account.
func ownAccount() account {
	return account{User: container.User{UID: os.Geteuid(), GID: os.Getegid()}, rootless: true}
}

// accountOf selects the user of a task: a claimed one, or the account linked to its owner, except
// root. A claimed user has the group of the order, for example that of a workspace, except root's. It
// records the user in the directory before any process runs as it.
func (r *Runtime) accountOf(d dir, spec container.Spec) (account, error) {
	if isolated := r.machine.notIsolated == nil; !isolated {
		return ownAccount(), nil
	}
	who := account{groups: gpuGroups(spec.GPUs)}
	if u := spec.User; u != nil && u.UID != 0 {
		who.User = *u
	} else {
		uid, err := r.claims.claimUID(d)
		if err != nil {
			return who, err
		}
		who.User, who.claimed = container.User{UID: uid, GID: uid}, true
		if u != nil && u.GID != 0 {
			who.GID = u.GID
		}
		if spec.FixedPaths {
			// Experiments share a checkpoint directory among tasks of different users: one task
			// writes checkpoints, the next continues from them and a third deletes them. Their
			// files must be accessible to all; the permissions of the parent directory protect them
			// from other users.
			who.umask = new(uint32)
		}
	}
	return who, d.replaceFile("user", strconv.Itoa(who.UID)+"\n")
}

// ownedBy returns the spec with all files owned by the task's user. The users in a client's archive
// do not exist on this machine.
func ownedBy(spec container.Spec, u container.User) container.Spec {
	spec.User = &u
	spec.Files = slices.Clone(spec.Files)
	for i := range spec.Files {
		spec.Files[i].UID, spec.Files[i].GID = u.UID, u.GID
	}
	return spec
}

// searchPath is the PATH of a task with its own user, whatever the agent's is: that of the user who
// started the agent may contain directories of their home.
const searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// userEnviron returns the environment variables of a user. For a user that is not in /etc/passwd it
// sets the name, which Python requires, and a home directory among the task's files.
func userEnviron(uid int, files string) []string {
	name, home := "task-"+strconv.Itoa(uid), files
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		name, home = u.Username, cmp.Or(u.HomeDir, files)
	}
	return append(inheritedEnviron(), "PATH="+searchPath, "HOME="+home, "USER="+name, "LOGNAME="+name)
}

// gpuGroups returns the groups with access to the machine's GPUs, if access is restricted.
func gpuGroups(gpus []string) []uint32 {
	if len(gpus) == 0 {
		return nil
	}
	var out []uint32
	for _, pattern := range []string{"/dev/nvidia*", "/dev/kfd", "/dev/dri/renderD*"} {
		nodes, _ := filepath.Glob(pattern) // the pattern is valid
		for _, n := range nodes {
			var st unix.Stat_t
			if unix.Stat(n, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR || st.Mode&0o006 == 0o006 {
				continue
			}
			if st.Gid != 0 && st.Mode&0o060 == 0o060 && !slices.Contains(out, st.Gid) {
				out = append(out, st.Gid)
			}
		}
	}
	return out
}
