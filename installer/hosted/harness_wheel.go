package hosted

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/det-deploy/det-deploy/cloud/host/manifest"
	"github.com/det-deploy/det-deploy/installer/doctor"
)

// wheelDir is the directory of the harness wheel on the master's machine.
const wheelDir = "/var/lib/det-deploy/harness"

// wheelMost is the maximum size that a master reads, in bytes.
const wheelMost = 64 << 20

// wheelFile returns the path of the wheel on the master's machine, or "" if none is configured.
func (c *masterFile) wheelFile() string {
	if c.Common.Tasks.HarnessWheel == "" {
		return ""
	}
	return path.Join(wheelDir, filepath.Base(c.Common.Tasks.HarnessWheel))
}

// readWheel reads the wheel on this computer. If the file is missing here but the cluster has a
// wheel of that name, it returns the stored one, so that other computers can run commands too.
func (c *masterFile) readWheel(have manifest.Manifest) (content []byte, stored manifest.File, err error) {
	given := c.Common.Tasks.HarnessWheel
	info, err := os.Stat(given)
	if errors.Is(err, fs.ErrNotExist) {
		if stored, found := have.Files[c.wheelFile()]; found {
			return nil, stored, nil
		}
	}
	if err != nil {
		return nil, stored, fmt.Errorf("read the wheel of tasks.harness_wheel: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() == 0 || info.Size() > wheelMost {
		return nil, stored, fmt.Errorf("read the wheel of tasks.harness_wheel: %s must be a file of at most %d MB", given, wheelMost>>20)
	}
	if content, err = os.ReadFile(given); err != nil {
		return nil, stored, fmt.Errorf("read the wheel of tasks.harness_wheel: %w", err)
	}
	return content, stored, nil
}

// addWheel adds the wheel to the files of the master's machine.
func (f *configuration) addWheel(have manifest.Manifest, m *manifest.Manifest, content map[string][]byte) error {
	name := f.c.wheelFile()
	if name == "" {
		return nil
	}
	data, stored, err := f.c.readWheel(have)
	if err != nil {
		return err
	}
	if data == nil {
		m.Files[name] = stored
		return nil
	}
	content[name], m.Files[name] = data, storedFile(data)
	return nil
}

// checkWheel checks that the wheel is readable, before anything is created.
func (c *Cluster) checkWheel(ctx context.Context) doctor.Result {
	const needed = "a wheel that can be read"
	have, err := c.Manifests.Read(ctx)
	if err != nil {
		return doctor.FromError(err, needed)
	}
	if _, _, err := c.readWheel(have); err != nil {
		return doctor.Failed(err.Error(), needed, "name another file with --harness-wheel")
	}
	return doctor.Passed("%s", c.Common.Tasks.HarnessWheel)
}

// storedFile returns the manifest's reference to a file.
func storedFile(data []byte) manifest.File {
	sum := sha256.Sum256(data)
	text := hex.EncodeToString(sum[:])
	return manifest.File{Key: manifest.FileKey(text), SHA256: text, Mode: 0o644}
}
