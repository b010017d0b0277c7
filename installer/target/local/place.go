package local

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	agentconfig "github.com/det-deploy/det-deploy/agent/config"
	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/installer/target/local/supervise"
	"github.com/det-deploy/det-deploy/master/config"
)

// Place is a cluster's directory:
//
//	control/         record and lease       data/      database, keys, checkpoints
//	admin-password   that of admin          tls/       the cluster's certificates
//	determined-password                     that of the user determined
//	master.yaml      the master's config    agents/1/  an agent's config and state
//	units/ run/      the supervisor's       logs/      one file per process
//
// data/settings.json has the settings of a removed cluster.
type Place string

// At returns the directory of cluster under root.
func At(root, cluster string) Place { return Place(filepath.Join(root, cluster)) }

func (p Place) pathOf(parts ...string) string {
	return filepath.Join(append([]string{string(p)}, parts...)...)
}

// Password returns the file with the initial password of admin.
func (p Place) Password() string { return p.pathOf("admin-password") }

// DeterminedPassword returns the file with the initial password of determined. In clusters of
// versions that generated one password for both users, it is that of admin.
func (p Place) DeterminedPassword() string {
	if p.onePassword() {
		return p.Password()
	}
	return p.determinedPassword()
}

func (p Place) determinedPassword() string { return p.pathOf("determined-password") }

// onePassword reports whether an older version generated one password for both users. This version
// creates that of determined first.
func (p Place) onePassword() bool {
	return fileExists(p.Password()) && !fileExists(p.determinedPassword())
}

// CA returns the file with the CA certificate.
func (p Place) CA() string { return p.pathOf("tls", authorityFile) }

// Log returns the log file of a process.
func (p Place) Log(name string) string { return p.pathOf("logs", name+".log") }

// Logs returns the names of all processes with a log.
func (p Place) Logs() ([]string, error) {
	files, err := fs.Glob(os.DirFS(p.pathOf("logs")), "*.log")
	if err != nil {
		return nil, err
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(f, ".log")
	}
	return files, nil
}

// retainReason returns the reason why the data outlives `down`, and its location.
func (p Place) retainReason() string { return holdsData + ", in " + p.dataDir() }

// closedPaths returns the paths that no task may mount: all but the checkpoints, which belong to
// tasks.
func (p Place) closedPaths() []string {
	return []string{
		p.pathOf("control"), p.Password(), p.determinedPassword(), p.pathOf("tls"), p.masterYAML(), p.masterConfig(), p.pathOf("data", "master"), p.settingsFile(),
		p.pathOf("agents"), p.pathOf("units"), p.pathOf("run"), p.pathOf("logs"),
	}
}

func (p Place) dataDir() string             { return p.pathOf("data") }
func (p Place) masterYAML() string          { return p.pathOf("master.yaml") }
func (p Place) masterConfig() string        { return p.pathOf("master-config.yaml") }
func (p Place) agentDir(name string) string { return p.pathOf("agents", name) }

// Processes returns the directory of the supervisor.
func (p Place) Processes() supervise.Dir { return supervise.Dir(p) }

// Store returns the store of the record. It is created and deleted with the cluster's directory,
// which stays if it contains other files.
func (p Place) Store() record.Store { return store{record.Dir{Path: p.pathOf("control")}, p} }

type store struct {
	record.Dir
	place Place
}

func (s store) Destroy(ctx context.Context) error {
	if err := s.place.keepSettings(ctx); err != nil {
		return err
	}
	if err := s.Dir.Destroy(ctx); err != nil {
		return err
	}
	err := os.Remove(string(s.place))
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST) {
		return nil
	}
	return wrapRefusal("remove", string(s.place), err)
}

// Holder describes this process. Owner is the user's name, or if the machine does not know it,
// their identity on the platform, which may be empty.
func Holder(getenv func(string) string, nonce, identity string) (record.Holder, error) {
	host, err := os.Hostname()
	if err != nil {
		return record.Holder{}, err
	}
	me, err := supervise.Identify(os.Getpid())
	if err != nil {
		return record.Holder{}, err
	}
	return record.Holder{
		Owner: currentUser(getenv("USER"), user.Current, identity), Host: host, Nonce: nonce,
		Process: strconv.Itoa(me.PID) + " " + me.Start,
	}, nil
}

// currentUser returns the name of the current user even if USER is not set, as in containers and
// under systemd.
func currentUser(name string, current func() (*user.User, error), identity string) string {
	if name != "" {
		return name
	}
	if u, err := current(); err == nil && u.Username != "" {
		return u.Username
	}
	return cmp.Or(identity, "uid "+strconv.Itoa(os.Getuid()))
}

// Dead reports whether h is a process of this machine that has ended.
func Dead(h record.Holder) bool {
	host, err := os.Hostname()
	pid, start, ok := strings.Cut(h.Process, " ")
	n, numErr := strconv.Atoi(pid)
	if err != nil || numErr != nil || !ok || h.Host != host {
		return false
	}
	return !supervise.Identity{PID: n, Start: start}.Alive()
}

// wrapRefusal translates a system error.
func wrapRefusal(op, path string, err error) error {
	if err == nil {
		return nil
	}
	e := &cloud.Error{Kind: cloud.Unknown, Op: op, Resource: path, Err: err}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Kind = cloud.NotFound
	case errors.Is(err, fs.ErrPermission):
		e.Kind, e.Fix = cloud.Denied, "make the directory writable for you, or set XDG_STATE_HOME to another one"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		e.Kind, e.Fix = cloud.Quota, "free some disk space, or set XDG_STATE_HOME to a directory on another disk"
	}
	return e
}

// Recover reads the settings of a cluster without a record from its configuration files. It returns
// none without a master.yaml, and omits values that cannot be read.
func (p Place) Recover() (map[string]string, error) {
	if !fileExists(p.masterYAML()) {
		return nil, nil
	}
	m, _, err := config.Load([]string{p.masterYAML()}, nil)
	if err != nil {
		return nil, err
	}
	out := map[string]string{
		ElasticSetting: "0",
		PortSetting:    strconv.Itoa(m.ListenPort()),
	}
	p.recoverTLS(m, out)
	if given, err := os.ReadFile(p.masterConfig()); err == nil {
		out[ConfigSetting] = string(given)
	}
	if ref, ok := m.DB.URL.Ref(); ok {
		out[DBSetting] = ref.Name
	}
	if file := m.TaskContainerDefaults.HarnessWheel.File; file != "" {
		out[WheelSetting] = file
	}
	for _, pool := range m.ResourcePools {
		if pool.Name == ElasticPool && pool.Provider != nil && pool.Provider.Local != nil {
			out[ElasticSetting] = strconv.Itoa(pool.Provider.Local.MaxInstances)
			out[SlotSetting] = strconv.Itoa(pool.Provider.Local.ArtificialSlots)
		}
	}
	agents, err := os.ReadDir(p.pathOf("agents"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, wrapRefusal("list", "agents", err)
	}
	out[AgentSetting], out[TrustSetting] = strconv.Itoa(len(agents)), "false"
	for _, a := range agents {
		read, _, err := agentconfig.Load([]string{filepath.Join(p.agentDir(a.Name()), "agent.yaml")}, nil)
		if err == nil {
			out[SlotSetting] = strconv.Itoa(read.ArtificialSlots)
			// Agents trust users if tasks are not isolated; the master decides whose tasks run.
			out[TrustSetting] = strconv.FormatBool(read.TrustUsers && m.Security.TrustUsers)
			if name := read.Security.TLS.MasterCertName; name != "" {
				out[NameSetting] = name
			}
		}
	}
	return out, nil
}
