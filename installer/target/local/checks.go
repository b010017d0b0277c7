package local

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/det-deploy/det-deploy/installer/doctor"
	"github.com/det-deploy/det-deploy/internal/checksum"
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/internal/wait"
	"github.com/det-deploy/det-deploy/master/config"
)

// room is the minimum of free disk space. It suffices for the database and the logs of a day of
// small tasks, but maybe not for a checkpoint.
const room = 512 << 20

// Checks returns the preflight checks of this machine.
func (t *Target) Checks() []doctor.Check {
	c := checks{t}
	out := []doctor.Check{
		{Name: "directory", Look: c.checkDirectory},
		{Name: "port " + strconv.Itoa(t.Spec.Port), Look: c.checkPort},
		{Name: "runtime", Look: c.checkRuntime},
	}
	if t.Spec.MasterConfig != "" {
		out = append(out, doctor.Check{Name: "configuration", Look: c.checkConfiguration})
	}
	if t.Spec.OwnTLS.Own() {
		out = append(out, doctor.Check{Name: "certificate", Look: c.checkCertificate})
	}
	if t.Spec.DBURLFile != "" {
		out = append(out, doctor.Check{Name: "database", Look: c.checkDatabase})
	}
	if t.Spec.HarnessWheel != "" {
		out = append(out, doctor.Check{Name: "harness wheel", Look: c.checkWheel})
	}
	return out
}

// checks implements the checks.
type checks struct{ *Target }

func (t checks) checkDirectory(context.Context) doctor.Result {
	r := doctor.Result{Answer: doctor.Pass, Needed: "a writable directory with 512 MB free", Fix: "set XDG_STATE_HOME to another directory"}
	dir := string(t.Place)
	for !fileExists(dir) && filepath.Dir(dir) != dir {
		dir = filepath.Dir(dir)
	}
	var fs syscall.Statfs_t
	if err := errors.Join(syscall.Access(dir, 2|1), syscall.Statfs(dir, &fs)); err != nil {
		r.Answer, r.Found = doctor.Fail, fmt.Sprintf("%s: %v", dir, err)
		return r
	}
	free := fs.Bavail * uint64(fs.Bsize)
	r.Found = fmt.Sprintf("%s, %d MB free", t.Place, free>>20)
	if free < room {
		r.Answer = doctor.Fail
	}
	return r
}

// checkPort passes if the port is free or this cluster's master uses it.
func (t checks) checkPort(ctx context.Context) doctor.Result {
	r := doctor.Result{Answer: doctor.Pass, Found: "free", Needed: "a free port", Fix: "choose another one with --port"}
	if st, seen, err := t.Place.Processes().Status("master"); err == nil && seen && st.Alive() && t.Master().masterProblem(ctx) == "" {
		r.Found = "used by this cluster"
		return r
	}
	switch err := t.tryPort(ctx); {
	case err == nil:
	case errors.Is(err, syscall.EADDRINUSE) && t.MasterAlive():
		r.Found = "used by this cluster, which does not answer"
	case errors.Is(err, syscall.EADDRINUSE):
		r.Answer, r.Found = doctor.Fail, "in use by another program"
	default:
		r.Answer, r.Found = doctor.Fail, err.Error()
	}
	return r
}

// tryPort returns an error if the master's port cannot be opened.
func (t *Target) tryPort(ctx context.Context) error {
	address := loopback
	if t.TasksAt != "" || t.Spec.AgentAddress != "" {
		address = ""
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(address, strconv.Itoa(t.Spec.Port)))
	if err != nil {
		return err
	}
	return l.Close()
}

// portPatience is how long a port must be in use to count as another program's. The cluster's own
// master opens it before the supervisor records that it runs, and a killed master is recorded
// before its port is free.
const portPatience = 5 * time.Second

// isPortTaken reports whether another program listens on the master's port. If the master's status
// cannot be read, that may be the cluster's own master.
func (t *Target) isPortTaken(ctx context.Context) bool {
	for end := time.Now().Add(portPatience); ; {
		if !errors.Is(t.tryPort(ctx), syscall.EADDRINUSE) {
			return false
		}
		if st, _, err := t.Place.Processes().Status("master"); err != nil || st.Alive() {
			return false
		}
		if time.Now().After(end) || wait.For(ctx, portPatience/50) != nil {
			return true
		}
	}
}

// MasterAlive reports whether a master of this cluster is alive, in any state.
func (t *Target) MasterAlive() bool {
	st, seen, err := t.Place.Processes().Status("master")
	return err == nil && seen && st.Alive()
}

func (t checks) checkRuntime(ctx context.Context) doctor.Result {
	if t.Runtime(ctx) == "docker" {
		return doctor.Result{Answer: doctor.Pass, Found: "Docker answers; tasks run in containers"}
	}
	r := doctor.Result{
		Answer: doctor.Unknown, Found: "Docker is not running at " + t.Docker + "; tasks run as plain processes",
		Fix: "start Docker, and be allowed to use it, to run tasks in containers",
	}
	if _, isolated := t.Isolated(ctx); isolated {
		r.Found += ", each as a separate Unix user"
	} else {
		r.Found += ", which are not isolated: only administrators may submit them without --" + TrustSetting
	}
	if _, err := exec.LookPath("runc"); err != nil {
		r.Found += "; without runc, which is not installed, no trials of experiments run"
		r.Fix += "; or install runc, as with apt-get install runc"
	}
	return r
}

func (t checks) checkDatabase(context.Context) doctor.Result {
	r := doctor.Result{Answer: doctor.Pass, Found: t.Spec.DBURLFile, Needed: "a readable file with a PostgreSQL URL", Fix: "name another file with --db-url-file"}
	if _, err := os.ReadFile(t.Spec.DBURLFile); err != nil {
		r.Answer, r.Found = doctor.Fail, err.Error()
	}
	return r
}

func (t checks) checkWheel(context.Context) doctor.Result {
	r := doctor.Result{Answer: doctor.Pass, Found: t.Spec.HarnessWheel, Needed: "a readable wheel", Fix: "name another file with --harness-wheel"}
	if _, err := checksum.File(t.Spec.HarnessWheel); err != nil {
		r.Answer, r.Found = doctor.Fail, err.Error()
	}
	return r
}

// checkConfiguration parses the master's configuration as the master will.
func (t checks) checkConfiguration(context.Context) doctor.Result {
	r := doctor.Result{Answer: doctor.Pass, Found: "master.yaml can be read", Needed: "a valid configuration of the master", Fix: "correct the file of --" + ConfigSetting}
	data, err := masterYAML(t.Spec, t.Place, t.TasksAt)
	if err != nil {
		r.Answer, r.Found = doctor.Fail, err.Error()
		return r
	}
	read, err := config.LoadGenerated(data, "master.yaml", nil)
	if err != nil {
		r.Answer, r.Found = doctor.Fail, err.Error()
		return r
	}
	if refused := t.listRefusals(read.Master); len(refused) > 0 {
		r.Answer, r.Found = doctor.Fail, problemLines(inFragment(t.Spec.MasterConfig, refused))
		return r
	}
	if given := config.GuardedMounts(read.Master); len(given) > 0 {
		r.Answer, r.Found = doctor.Unknown, problemLines(inFragment(t.Spec.MasterConfig, given))
	}
	return r
}

func (t checks) listRefusals(m config.Master) document.Errors {
	if t.Refusals == nil {
		return config.Unbuilt(m)
	}
	return t.Refusals(m)
}

func problemLines(problems []document.Problem) string {
	out := make([]string, len(problems))
	for i, p := range problems {
		out[i] = p.String()
	}
	return strings.Join(out, "; ")
}
