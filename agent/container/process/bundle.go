package process

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/opencontainers/runtime-spec/specs-go"

	"github.com/det-deploy/det-deploy/agent/container"
)

// taskRoot is the path at which an isolated task sees all of its files, in addition to their own
// paths. Outside of tasks it is an empty directory.
const taskRoot = "/run/det-deploy-task"

// bundle is the runc configuration of one task.
type bundle struct {
	d    dir
	spec container.Spec
	who  account
	// env is the environment of the program. The last value of a repeated variable applies.
	env    []string
	places []place
	hidden []string
	limits Limits
	// files is the limit of open files with which the agent was started.
	files *specs.POSIXRlimit
}

// write creates the task's view of the machine and config.json.
func (b bundle) write() error {
	at := b.d.filePath("view")
	if err := mkdirOpen(at); err != nil {
		return err
	}
	machine, err := makeView(at, b.places, b.who.rootless)
	if err != nil {
		return err
	}
	data, err := json.Marshal(b.config(at, machine))
	if err != nil {
		return err
	}
	return b.d.replaceFile("config.json", string(data))
}

// config returns the OCI runtime specification of the task.
func (b bundle) config(root string, machine []specs.Mount) specs.Spec {
	return specs.Spec{
		Version: "1.0.2", // supported by runc 1.1
		Root:    &specs.Root{Path: root},
		Process: b.process(),
		Mounts:  append(append(machine, b.ownMounts()...), b.placeMounts()...),
		Linux:   b.linux(),
	}
}

// process runs the wrapper as the task's user, without capabilities.
func (b bundle) process() *specs.Process {
	p := &specs.Process{
		User:            b.who.inside(),
		Args:            wrapped(b.spec.Command),
		Env:             b.env,
		Cwd:             workDir(b.spec),
		Capabilities:    &specs.LinuxCapabilities{},
		NoNewPrivileges: true,
	}
	if b.files != nil {
		p.Rlimits = append(p.Rlimits, *b.files)
	}
	if most := b.limits.Processes; most > 0 && b.who.claimed { // for other users the limit would count all of their processes
		p.Rlimits = append(p.Rlimits, specs.POSIXRlimit{Type: "RLIMIT_NPROC", Hard: uint64(most), Soft: uint64(most)})
	}
	return p
}

// ownMounts returns the mounts of the task's private directories.
func (b bundle) ownMounts() []specs.Mount {
	out := []specs.Mount{{Destination: "/proc", Type: "proc", Source: "proc", Options: []string{"nosuid", "noexec", "nodev"}}}
	for _, p := range privateBinds {
		if isDir(p) {
			out = append(out, specs.Mount{Destination: p, Type: "bind", Source: b.d.filePath("tmp"), Options: []string{"rbind"}})
		}
	}
	for _, p := range privateMounts {
		if !isDir(p) {
			continue
		}
		options := []string{"nosuid", "nodev", "mode=1777"}
		if size := b.spec.ShmSize; p == "/dev/shm" && size > 0 {
			options = append(options, "size="+strconv.FormatInt(size, 10))
		}
		out = append(out, specs.Mount{Destination: p, Type: "tmpfs", Source: "tmpfs", Options: options})
	}
	return out
}

// isDir reports whether p is a directory, and not a link to one.
func isDir(p string) bool {
	info, err := os.Lstat(p)
	return err == nil && info.IsDir()
}

func (b bundle) placeMounts() []specs.Mount {
	var out []specs.Mount
	for _, p := range b.places {
		options := append([]string{"rbind"}, p.options...)
		if p.readOnly {
			options = append(options, "ro")
		}
		out = append(out, specs.Mount{Destination: p.path, Type: "bind", Source: p.source, Options: options})
	}
	return out
}

func (b bundle) linux() *specs.Linux {
	l := &specs.Linux{
		Namespaces: []specs.LinuxNamespace{
			{Type: specs.PIDNamespace}, {Type: specs.IPCNamespace}, {Type: specs.MountNamespace},
		},
		MaskedPaths: b.hidden,
	}
	if b.who.rootless {
		l.Namespaces = append(l.Namespaces, specs.LinuxNamespace{Type: specs.UserNamespace})
		l.UIDMappings = []specs.LinuxIDMapping{{HostID: uint32(os.Geteuid()), Size: 1}}
		l.GIDMappings = []specs.LinuxIDMapping{{HostID: uint32(os.Getegid()), Size: 1}}
		return l
	}
	l.CgroupsPath = b.d.cgroup()
	// The permissions of a device file control access, as outside of the container.
	l.Resources = &specs.LinuxResources{Devices: []specs.LinuxDeviceCgroup{{Allow: true, Access: "rwm"}}}
	if most := b.limits.Processes; most > 0 {
		l.Resources.Pids = &specs.LinuxPids{Limit: &most}
	}
	if most := b.limits.Memory; most > 0 {
		l.Resources.Memory = &specs.LinuxMemory{Limit: &most}
	}
	return l
}

// cgroup returns the control group of a container. Its name is derived from the whole path, because
// other agents of the machine may have containers with the same ID.
func (d dir) cgroup() string {
	sum := sha256.Sum256([]byte(d))
	return "/det-deploy/" + hex.EncodeToString(sum[:16])
}

// smallest returns the smaller of two limits; 0 means no limit.
func smallest(a, b int64) int64 {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// hasBundle reports whether the task has a runc container, or was about to get one.
func (d dir) hasBundle() bool {
	_, err := os.Lstat(d.filePath("config.json"))
	return !errors.Is(err, fs.ErrNotExist)
}

// resolveMounts resolves the links of mount sources. It returns an error for a source within a
// hidden directory.
func resolveMounts(mounts []container.Mount, hidden []string) ([]container.Mount, error) {
	out := slices.Clone(mounts)
	for i, m := range out {
		real, err := filepath.EvalSymlinks(m.HostPath)
		if err != nil {
			return nil, fmt.Errorf("bind mount %s: %w", m.HostPath, err)
		}
		for _, h := range hidden {
			if isWithin(real, h) {
				return nil, fmt.Errorf("bind mount %s: tasks may not mount %s", m.HostPath, h)
			}
		}
		out[i].HostPath = real
	}
	return out, nil
}
