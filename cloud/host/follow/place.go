package follow

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/host/disk"
	"github.com/det-deploy/det-deploy/cloud/host/manifest"
	"github.com/det-deploy/det-deploy/internal/checksum"
)

// The paths on a machine.
const (
	home = "/var/lib/det-deploy"
	// binDir holds the programs that may still be needed, by checksum.
	binDir = home + "/bin"
	// fileDir holds the files, by checksum.
	fileDir   = home + "/files"
	stateFile = home + "/follow.json"
	// Current is a link into binDir that the units run.
	Current = home + "/current"
	// Environment is the environment file of the master's unit.
	Environment = home + "/master.env"
	// Hold is the content of Environment for a master on hold.
	Hold = "DET_DEPLOY_MASTER_ARGS=--on-hold\n"
)

// carryOut performs an action. It changes nothing that is running until all replacements are
// downloaded and verified.
func (f *Follower) carryOut(ctx context.Context, act Act) error {
	switch act {
	case Keep:
		return nil
	case Start:
		return f.Units.Restart(ctx, Unit)
	case Stop:
		return f.Units.Stop(ctx, Unit)
	case Adopt:
		f.state.Applied = f.state.Wanted
		f.notifyApplied(*f.state.Applied)
		return f.saveState()
	case Back:
		f.state.Rejected = f.state.Applied.Generation
		f.state.Why = fmt.Sprintf("the configuration of generation %d did not become healthy within %s: %s; rolled back to generation %d",
			f.state.Applied.Generation, Patience, orNothing(f.sick), f.state.Good.Generation)
		return f.applyManifest(ctx, f.state.Good)
	case Apply:
		f.state.Rejected, f.state.Why = 0, ""
		return f.applyManifest(ctx, f.state.Wanted)
	}
	panic("follow: unknown act " + string(act))
}

func (f *Follower) applyManifest(ctx context.Context, m *manifest.Manifest) error {
	if err := f.fetchAll(ctx, m); err != nil {
		return err
	}
	f.Log.Info("applying the manifest", "version", m.Version, "generation", m.Generation, "phase", m.Phase)
	if m.Phase == manifest.Stop {
		if err := f.Units.Stop(ctx, Unit); err != nil {
			return err
		}
	}
	if err := f.placeFiles(m); err != nil {
		return err
	}
	if m.Phase != manifest.Stop {
		if err := f.Units.Restart(ctx, Unit); err != nil {
			return err
		}
	}
	f.state.Applied, f.state.Started = m, f.Now()
	f.notifyApplied(*m)
	return f.saveState()
}

func (f *Follower) fetchAll(ctx context.Context, m *manifest.Manifest) error {
	for _, b := range m.Binaries {
		if err := f.fetchObject(ctx, b, f.binaryPath(b), 0o755); err != nil {
			return err
		}
	}
	for _, file := range m.Files {
		if err := f.fetchObject(ctx, file, f.storedPath(file), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// fetchObject downloads an object unless its file already has the right checksum.
func (f *Follower) fetchObject(ctx context.Context, file manifest.File, to string, mode fs.FileMode) error {
	if have, err := checksum.File(to); err == nil && have == file.SHA256 {
		return nil
	}
	return disk.Replace(to, mode, func(w io.Writer) error {
		sum := sha256.New()
		if err := f.Bucket.Fetch(ctx, file.Key, io.MultiWriter(w, sum)); err != nil {
			return fmt.Errorf("fetch %s: %w", file.Key, err)
		}
		if have := hex.EncodeToString(sum.Sum(nil)); have != file.SHA256 {
			return fmt.Errorf("fetch %s: its sha256 is %s, the manifest has %s", file.Key, have, file.SHA256)
		}
		return nil
	})
}

// placeFiles copies downloaded files to their destinations.
func (f *Follower) placeFiles(m *manifest.Manifest) error {
	for path, file := range m.Files {
		if err := f.copyFile(file, f.rootPath(path)); err != nil {
			return err
		}
	}
	if f.state.Applied != nil {
		for path := range f.state.Applied.Files {
			if _, still := m.Files[path]; still {
				continue
			}
			if err := os.Remove(f.rootPath(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("remove unused files: %w", err)
			}
		}
	}
	env := ""
	if m.Phase == manifest.Hold {
		env = Hold
	}
	if err := disk.Replace(f.rootPath(Environment), 0o644, func(w io.Writer) error {
		_, err := io.WriteString(w, env)
		return err
	}); err != nil {
		return err
	}
	for arch, b := range m.Binaries {
		if err := disk.Link(f.binaryPath(b), filepath.Join(f.rootPath(manifest.BinariesDir), "linux-"+arch)); err != nil {
			return err
		}
	}
	return disk.Link(filepath.Dir(f.binaryPath(m.Binaries[f.Arch])), f.rootPath(Current))
}

func (f *Follower) copyFile(file manifest.File, to string) error {
	info, err := os.Stat(to)
	if have, err2 := checksum.File(to); err == nil && err2 == nil && have == file.SHA256 && info.Mode().Perm() == file.Mode.Perm() {
		return nil
	}
	data, err := os.ReadFile(f.storedPath(file))
	if err != nil {
		return fmt.Errorf("write %s: %w", to, err)
	}
	return disk.Replace(to, file.Mode.Perm(), func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// pruneFiles deletes programs and files that no remembered manifest refers to.
func (f *Follower) pruneFiles() error {
	keep := map[string]bool{}
	for _, m := range []*manifest.Manifest{f.state.Wanted, f.state.Applied, f.state.Good} {
		for _, b := range m.Binaries {
			keep[b.SHA256] = true
		}
		for _, file := range m.Files {
			keep[file.SHA256] = true
		}
	}
	errs := f.unlinkBinaries()
	for _, dir := range []string{binDir, fileDir} {
		entries, err := os.ReadDir(f.rootPath(dir))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
		for _, e := range entries {
			path := filepath.Join(f.rootPath(dir), e.Name())
			if keep[e.Name()] || filepath.Dir(f.Self) == path {
				continue
			}
			errs = append(errs, os.RemoveAll(path))
		}
	}
	return errors.Join(errs...)
}

// unlinkBinaries deletes the links to programs of architectures that the manifest no longer lists.
func (f *Follower) unlinkBinaries() (errs []error) {
	entries, err := os.ReadDir(f.rootPath(manifest.BinariesDir))
	if err != nil {
		return []error{err}
	}
	for _, e := range entries {
		if _, still := f.state.Applied.Binaries[strings.TrimPrefix(e.Name(), "linux-")]; !still {
			errs = append(errs, os.Remove(filepath.Join(f.rootPath(manifest.BinariesDir), e.Name())))
		}
	}
	return errs
}

func (f *Follower) saveState() error {
	data, err := json.MarshalIndent(f.state, "", "  ")
	if err != nil {
		return fmt.Errorf("write the follower's state: %w", err)
	}
	return disk.Replace(f.rootPath(stateFile), 0o600, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

func (f *Follower) rootPath(p string) string { return filepath.Join(f.Root, p) }

func (f *Follower) binaryPath(b manifest.File) string {
	return filepath.Join(f.rootPath(binDir), b.SHA256, "det-deploy")
}

func (f *Follower) storedPath(file manifest.File) string {
	return filepath.Join(f.rootPath(fileDir), file.SHA256)
}

func orNothing(why string) string {
	if why == "" {
		return "it is not running"
	}
	return why
}
