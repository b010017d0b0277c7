package aws

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/infra"
	"github.com/det-deploy/det-deploy/cloud/host/manifest"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/record"
)

var _ installer.Upgradable = (*Target)(nil)

const platform = "linux-"

// Release is what this program would bring.
func (t *Target) Release() record.Release {
	r := record.Release{Version: t.Version, Programs: map[string]string{}}
	for arch, sum := range t.Programs.sums() {
		r.Programs[platform+arch] = sum
	}
	return r
}

// Runs says what the machine is told to run.
func (t *Target) Runs(ctx context.Context) (record.Release, installer.Mode, error) {
	m, err := t.readManifest(ctx)
	if err != nil || m.Schema == "" {
		return record.Release{}, "", err
	}
	r := record.Release{Version: m.Version, Programs: map[string]string{}}
	for arch, f := range m.Binaries {
		r.Programs[platform+arch] = f.SHA256
	}
	return r, installer.Mode(m.Phase), nil
}

// Offer uploads the programs of r that are not there. All that the cluster's
// machines need must be among them.
func (t *Target) Offer(ctx context.Context, r record.Release, tell func(string)) error {
	archs, err := t.architectures()
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
		_, err := t.Clients.S3.HeadObject(ctx, t.head(manifest.BinaryKey(sum)))
		if err == nil {
			continue
		}
		if cloud.KindOf(err) != cloud.NotFound {
			return err
		}
		if t.Programs[arch].SHA256 != sum {
			missing = append(missing, arch)
			continue
		}
		if err := t.upload(ctx, t.Programs[arch], tell); err != nil {
			return err
		}
	}
	if len(missing) > 0 {
		return errMissing(missing)
	}
	return nil
}

// Turn has the machine run r in a mode.
func (t *Target) Turn(ctx context.Context, r record.Release, mode installer.Mode, tell func(string)) error {
	have, status, err := t.told(ctx)
	if err != nil {
		return err
	}
	if have.Schema == "" {
		return errors.New("turn the master: its machine is told to run nothing")
	}
	want := have
	want.Phase, want.Version = manifest.Phase(mode), r.Version
	want.Fallback = want.Phase == manifest.Serve
	want.Binaries = maps.Clone(have.Binaries)
	for name, sum := range r.Programs {
		want.Binaries[strings.TrimPrefix(name, platform)] = manifest.File{Key: manifest.BinaryKey(sum), SHA256: sum, Mode: 0o755}
	}
	if want.Phase != have.Phase || want.Version != have.Version || !maps.Equal(want.Binaries, have.Binaries) {
		if err := t.writeManifest(ctx, want, status); err != nil {
			return err
		}
	}
	if want, err = t.readManifest(ctx); err != nil {
		return err
	}
	if err := t.reached(ctx, want, turnLimit, tell); err != nil {
		return err
	}
	if mode != installer.Serve {
		return nil
	}
	master, err := t.answer(ctx, tell)
	if err != nil {
		return err
	}
	master.Close()
	return nil
}

// Backup makes a snapshot of the data volume. An external database is its owner's
// to back up.
func (t *Target) Backup(ctx context.Context, of record.Release, _ func(string)) (string, error) {
	m, err := t.readManifest(ctx)
	if err != nil {
		return "", err
	}
	volume := infra.Ref(infra.Existing(t.Spec.Master.Volume.ID))
	if t.Spec.Master.Volume.ID == "" {
		own := &infra.Volume{In: t.cluster, Name: "data"}
		found, _, err := own.Find(ctx)
		if err != nil {
			return "", err
		}
		if !found.Exists() {
			return "", fmt.Errorf("back up what %s wrote: there is no data volume", of)
		}
		volume = own
	}
	// One backup a stop: repeating the command finds it again.
	s := &infra.Snapshot{In: t.cluster, Name: fmt.Sprintf("before-generation-%d", m.Generation+1), Volume: volume}
	found, _, err := s.Find(ctx)
	if err == nil && !found.Exists() {
		err = t.snapshot(ctx, s)
	}
	if err != nil {
		return "", err
	}
	where := "snapshot " + s.Identity()
	if !t.Spec.Database.URL.IsZero() {
		where += ", without the external database"
	}
	return where, nil
}

// snapshot begins one, exactly once: its name is its nonce.
func (t *Target) snapshot(ctx context.Context, s *infra.Snapshot) error {
	err := s.CreateOnce(ctx, s.Name)
	if cloud.KindOf(err) != cloud.Ambiguous {
		return err
	}
	made, lookErr := s.Made(ctx, s.Name)
	if lookErr != nil {
		return lookErr
	}
	if len(made) == 0 {
		return err
	}
	_, _, err = s.Find(ctx)
	return err
}

// Follow returns at once: agents ask their master for its program when it answers
// with another version, and go over to it without losing a task.
func (t *Target) Follow(_ context.Context, r record.Release, tell func(string)) error {
	tell("agents go over to " + r.String() + " by themselves, without losing tasks")
	return nil
}

// Newer refuses to bring an existing cluster up with another version than it runs:
// that is an upgrade, which keeps a way back.
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

// Hint names the command that is meant.
func (e *versionError) Hint() string {
	return "det-deploy upgrade --cluster-id " + e.cluster + ", or use the det-deploy that the cluster runs"
}

// needed reports, before anything is created, which programs are neither here nor
// in the cluster's bucket.
func (t *Target) needed(ctx context.Context) ([]string, error) {
	archs, err := t.architectures()
	if err != nil {
		return nil, err
	}
	m, err := t.readManifest(ctx)
	if err != nil {
		return nil, err
	}
	have := map[string]string{}
	for _, arch := range slices.Collect(maps.Keys(m.Binaries)) {
		have[arch] = m.Binaries[arch].SHA256
	}
	return t.Programs.missing(archs, have), nil
}
