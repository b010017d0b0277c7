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

// account is whom a task of runc's runs as.
type account struct {
	container.User

	// claimed says that it is one of Accounts, which another task has later.
	claimed bool
	// groups are those that it has besides, to reach its GPUs.
	groups []uint32
	// umask is the task's, or nil for the agent's.
	umask *uint32
	// rootless says that it is the agent's own user, in a user namespace in which that is root.
	rootless bool
}

// inside is the account as the task sees it.
func (a account) inside() specs.User {
	if a.rootless {
		return specs.User{}
	}
	return specs.User{UID: uint32(a.UID), GID: uint32(a.GID), AdditionalGids: a.groups, Umask: a.umask}
}

// ownAccount is the agent's own.
func ownAccount() account {
	return account{User: container.User{UID: os.Geteuid(), GID: os.Getegid()}, rootless: true}
}

// accountOf chooses whom a task runs as: a user of its own, or the account that its owner is
// linked to. Links to root are not followed. It is noted in the directory before anything can
// run as it.
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
		if spec.FixedPaths {
			// A task of an experiment leaves what it writes open to the next one, which runs as
			// another user: they write into one directory of checkpoints, and a third deletes
			// them. Who sees that directory at all is decided by who may look into its parent.
			who.umask = new(uint32)
		}
	}
	return who, d.replaceFile("user", strconv.Itoa(who.UID)+"\n")
}

// ownedBy gives every file of the task to its user: which users the archive of a
// client speaks of means nothing here.
func ownedBy(spec container.Spec, u container.User) container.Spec {
	spec.User = &u
	spec.Files = slices.Clone(spec.Files)
	for i := range spec.Files {
		spec.Files[i].UID, spec.Files[i].GID = u.UID, u.GID
	}
	return spec
}

// userEnviron is the environment that a user has in the files of a task. Python asks for the
// name of a user that /etc/passwd does not have; such a one has a home in the task's files.
func userEnviron(uid int, files string) []string {
	name, home := "task-"+strconv.Itoa(uid), files
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		name, home = u.Username, cmp.Or(u.HomeDir, files)
	}
	return append(inheritedEnviron(), "HOME="+home, "USER="+name, "LOGNAME="+name)
}

// gpuGroups are the groups that may use the machine's GPUs, where access is restricted.
func gpuGroups(gpus []string) []uint32 {
	if len(gpus) == 0 {
		return nil
	}
	var out []uint32
	for _, pattern := range []string{"/dev/nvidia*", "/dev/kfd", "/dev/dri/renderD*"} {
		nodes, _ := filepath.Glob(pattern) // the pattern is good
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
