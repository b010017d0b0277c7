package local

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/record"
)

var _ installer.Upgradable = (*Target)(nil)

// onHold is the flag of `master run` for a master that only rehearses.
const onHold = "--on-hold"

// Runs returns the release and mode in the master's unit.
func (t *Target) Runs(ctx context.Context) (record.Release, installer.Mode, error) {
	u, found, err := t.Place.Processes().Unit("master")
	if err != nil || !found {
		return record.Release{}, installer.Stop, wrapRefusal("read unit", "master", err)
	}
	r, err := t.Place.Running(ctx, t.Release, t.Own)
	if slices.Contains(u.Args, onHold) {
		return r, installer.Hold, err
	}
	return r, installer.Serve, err
}

// UploadPrograms copies this program into the cluster's directory.
func (t *Target) UploadPrograms(ctx context.Context, r record.Release, _ func(string)) error {
	p := t.programResource(r)
	if f, _, err := p.Find(ctx); err != nil || f.Exists() {
		return err
	}
	return p.Create(ctx)
}

// SetMode starts or stops the master's process.
func (t *Target) SetMode(ctx context.Context, r record.Release, m installer.Mode, tell func(string)) error {
	p := t.masterResource()
	p.program = t.Place.programOf(r)
	switch m {
	case installer.Stop:
		tell("waiting until nothing writes the store")
		return p.Delete(ctx)
	case installer.Hold:
		tell("the new master tests a copy of the store")
		p.args = append(p.args, onHold)
		if err := t.supervisorResource().Create(ctx); err != nil {
			return err
		}
		return p.startUnitAnd(ctx, func(ctx context.Context, generation string) string {
			return p.awaitUnit(ctx, generation, tryLimit, t.Master().holdProblem)
		})
	case installer.Serve:
		tell("the master begins to serve")
	}
	if err := t.supervisorResource().Create(ctx); err != nil {
		return err
	}
	return p.startUnit(ctx)
}

// tryLimit is how long a master may rehearse: it copies and reads a database, of some 50 GB on a
// slow disk.
const tryLimit = 15 * time.Minute

// Backup runs the program that wrote the store, which writes a backup file next to the store.
func (t *Target) Backup(ctx context.Context, of record.Release, _ func(string)) (string, error) {
	dir := filepath.Join(t.Place.dataDir(), "backups")
	if err := t.newHost().makeDirectory(ctx, dir); err != nil {
		return "", err
	}
	sum := of.Programs[platform]
	path := filepath.Join(dir, fmt.Sprintf("%s-%s.backup", of.Version, sum[:min(8, len(sum))]))
	if err := t.newHost().removeAll(ctx, path); err != nil { // left by an earlier upgrade from the same release
		return "", err
	}
	h := t.newHost()
	h.program = t.Place.programOf(of)
	_, err := h.runProgram(ctx, "master", "backup", "--config-file", t.Place.masterYAML(), "--file", path)
	return path, err
}

// WaitForAgents restarts every agent with the program of r and a rewritten configuration, which
// depends on the isolation of tasks. Tasks survive the restart. It restores the permissions of the
// cluster's files and deletes unused programs.
func (t *Target) WaitForAgents(ctx context.Context, r record.Release, tell func(string)) error {
	t.Release = r
	if err := t.mendPermissions(ctx); err != nil {
		return err
	}
	for i := range t.Spec.Agents {
		tell(fmt.Sprintf("agent %d starts again", i+1))
		a := t.agentResource(strconv.Itoa(i + 1))
		if _, drift, err := a.Find(ctx); err != nil {
			return err
		} else if len(drift) == 0 {
			continue
		}
		if err := t.agentFiles(strconv.Itoa(i + 1)).writeConfig(ctx); err != nil {
			return err
		}
		if err := a.startUnit(ctx); err != nil {
			return err
		}
	}
	if err := t.supervisorResource().replaceRunning(ctx); err != nil {
		return err
	}
	if err := t.Ready(ctx, tell); err != nil {
		return err
	}
	return forgetOthers(ctx, t.newHost(), t.Place, r)
}

// Fits returns an error if the cluster runs another release than this program, or if an upgrade is
// in progress.
func (t *Target) Fits(r record.Record) error {
	if r.Upgrade != nil {
		return &installer.UnderWayError{Cluster: t.Spec.Cluster, To: r.Upgrade.To}
	}
	command := "det-deploy local upgrade"
	if t.Spec.Cluster != DefaultCluster {
		command += " --cluster-id " + t.Spec.Cluster
	}
	if !t.Release.Same(t.Own) {
		return &installer.ReleaseError{Cluster: t.Spec.Cluster, Runs: t.Release, Own: t.Own, Command: command}
	}
	return nil
}

// forgetOthers deletes unused programs.
func forgetOthers(ctx context.Context, h host, p Place, r record.Release) error {
	sums, err := p.listPrograms()
	if err != nil {
		return err
	}
	for _, sum := range sums {
		if sum == r.Programs[platform] {
			continue
		}
		if err := h.removeAll(ctx, filepath.Dir(p.programFile(sum))); err != nil {
			return err
		}
	}
	return nil
}
