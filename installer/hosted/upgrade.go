package hosted

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/host/manifest"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/hosted/manifests"
	"github.com/det-deploy/det-deploy/installer/record"
)

const platform = "linux-"

// Release returns the release of this program.
func (c *Cluster) Release() record.Release {
	r := record.Release{Version: c.Version, Programs: map[string]string{}}
	for arch, sum := range c.Programs.Sums() {
		r.Programs[platform+arch] = sum
	}
	return r
}

// Runs returns the release and mode that the machine is set to run.
func (c *Cluster) Runs(ctx context.Context) (record.Release, installer.Mode, error) {
	m, err := c.Manifests.Read(ctx)
	if err != nil || m.Schema == "" {
		return record.Release{}, "", err
	}
	r := record.Release{Version: m.Version, Programs: map[string]string{}}
	for arch, f := range m.Binaries {
		r.Programs[platform+arch] = f.SHA256
	}
	return r, installer.Mode(m.Phase), nil
}

// UploadPrograms uploads the missing programs of r. It returns an error if r lacks an architecture
// that the machines need.
func (c *Cluster) UploadPrograms(ctx context.Context, r record.Release, tell func(string)) error {
	archs, err := c.Machines.Architectures()
	if err != nil {
		return err
	}
	var missing []string
	for _, arch := range archs {
		sum := r.Programs[platform+arch]
		if sum == "" {
			missing = append(missing, arch)
			continue
		}
		exists, err := c.Objects.Has(ctx, manifest.BinaryKey(sum))
		if err != nil {
			return err
		}
		if exists {
			continue
		}
		if c.Programs[arch].SHA256 != sum {
			missing = append(missing, arch)
			continue
		}
		if err := c.uploadProgram(ctx, c.Programs[arch], tell); err != nil {
			return err
		}
	}
	if len(missing) > 0 {
		return c.missingProgram(missing)
	}
	return nil
}

// SetMode makes the machine run r in a mode.
func (c *Cluster) SetMode(ctx context.Context, r record.Release, mode installer.Mode, tell func(string)) error {
	have, status, err := c.Manifests.ReadBoth(ctx)
	if err != nil {
		return err
	}
	if have.Schema == "" {
		return errors.New("cannot change the mode of the master: it has no manifest")
	}
	want := have
	want.Phase, want.Version = manifest.Phase(mode), r.Version
	want.Fallback = want.Phase == manifest.Serve
	want.Binaries = maps.Clone(have.Binaries)
	for name, sum := range r.Programs {
		want.Binaries[strings.TrimPrefix(name, platform)] = manifest.File{Key: manifest.BinaryKey(sum), SHA256: sum, Mode: 0o755}
	}
	if want.Phase != have.Phase || want.Version != have.Version || !maps.Equal(want.Binaries, have.Binaries) {
		if err := c.Manifests.Write(ctx, want, status); err != nil {
			return err
		}
	}
	if want, err = c.Manifests.Read(ctx); err != nil {
		return err
	}
	if err := c.Manifests.WaitUntilRuns(ctx, want, manifests.RunLimit, tell); err != nil {
		return err
	}
	if mode != installer.Serve {
		return nil
	}
	e, err := c.Endpoint(ctx)
	if err != nil {
		return err
	}
	master, err := c.waitUntilAnswers(ctx, e, tell)
	if err != nil {
		return err
	}
	master.Close()
	return nil
}

// Backup copies the data disk, and deletes older copies. The owner of an external database has to
// back that up.
func (c *Cluster) Backup(ctx context.Context, of record.Release, tell func(string)) (string, error) {
	m, err := c.Manifests.Read(ctx)
	if err != nil {
		return "", err
	}
	// The name makes repeated commands find the backup of the same stop.
	where, err := c.Disk.Keep(ctx, backupPrefix+strconv.Itoa(m.Generation+1))
	if err != nil {
		return "", fmt.Errorf("back up what %s wrote: %w", of, err)
	}
	if !c.Common.Database.URL.IsZero() {
		where += ", without the external database"
	}
	if err := c.pruneBackups(ctx); err != nil { // the next upgrade tries again
		tell("cannot delete older backups: " + err.Error())
	}
	return where, nil
}

// backupPrefix is the prefix of the names of backups; the generation of the manifest follows.
const backupPrefix = "before-generation-"

// keptBackups is the number of backups that stay, so that upgrades do not fill a quota.
const keptBackups = 3

// pruneBackups deletes all but the last backups, and those that failed. Nothing retains a failed
// one, because it holds nothing.
func (c *Cluster) pruneBackups(ctx context.Context) error {
	all, err := c.Marked.Inventory(ctx, c.Common.Cluster)
	if err != nil {
		return err
	}
	generation := func(f resource.Found) int {
		_, number, _ := strings.Cut(f.Name, backupPrefix)
		n, _ := strconv.Atoi(number) // 0 is no backup
		return n
	}
	var backups, surplus []resource.Found
	for _, f := range all {
		switch {
		case generation(f) == 0:
		case f.Retain == "":
			surplus = append(surplus, f)
		default:
			backups = append(backups, f)
		}
	}
	slices.SortFunc(backups, func(a, b resource.Found) int { return generation(b) - generation(a) })
	for _, f := range append(surplus, backups[min(len(backups), keptBackups):]...) {
		if err := c.Marked.Remove(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// WaitForAgents returns at once. Agents download the new program when their master answers with
// another version, and switch to it without losing tasks.
func (c *Cluster) WaitForAgents(_ context.Context, r record.Release, tell func(string)) error {
	tell("agents switch to " + r.String() + " by themselves, without losing tasks")
	return nil
}

// Newer returns an error if `up` would change the version of an existing cluster, because only an
// upgrade can be undone.
func Newer(runs, mine record.Release, cluster string) error {
	if runs.Version == "" || runs.Version == mine.Version {
		return nil
	}
	return &versionError{cluster, runs.String(), mine.String()}
}

type versionError struct{ cluster, runs, mine string }

func (e *versionError) Error() string {
	return fmt.Sprintf("cluster %s runs %s, and this program is %s", e.cluster, e.runs, e.mine)
}

// Hint names the command to use instead.
func (e *versionError) Hint() string {
	return "det-deploy upgrade --cluster-id " + e.cluster + ", or use the det-deploy that the cluster runs"
}

// missingPrograms returns, before anything is created, the architectures whose program is neither
// on this computer nor in the bucket.
func (c *Cluster) missingPrograms(ctx context.Context) ([]string, error) {
	archs, err := c.Machines.Architectures()
	if err != nil {
		return nil, err
	}
	m, err := c.Manifests.Read(ctx)
	if err != nil {
		return nil, err
	}
	have := map[string]string{}
	for _, arch := range slices.Collect(maps.Keys(m.Binaries)) {
		have[arch] = m.Binaries[arch].SHA256
	}
	return c.Programs.Missing(archs, have), nil
}
