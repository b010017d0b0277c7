// Package jupyter has the files with which a notebook's container starts the JupyterLab of its image.
//
// JupyterLab listens at loopback and serves only requests with a key that the master alone has: the
// container has the key's hash. Programs of others on the same machine, whose network a task may share,
// cannot use it, and the notebook's own visitors never see the key.
package jupyter

import (
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// Header is the header with the key of a notebook.
const Header = "X-Det-Notebook-Key"

const (
	entrypointFile = "notebook-entrypoint.sh"
	configFile     = "jupyter_config.py"
	settingsFile   = "settings.json"
)

//go:embed notebook-entrypoint.sh jupyter_config.py
var files embed.FS

// Settings are what the files of one notebook depend on.
type Settings struct {
	// BasePath is the path of all pages.
	BasePath string
	Port     int
	Key      string
	// UID and GID own the files.
	UID, GID int32
}

// NewKey returns a new key.
func NewKey() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}

// Entrypoint returns the command line that starts JupyterLab with the files in a directory.
func Entrypoint(dir string) []string { return []string{"/bin/sh", dir + "/" + entrypointFile} }

// Files returns the files to create in a directory.
func Files(dir string, s Settings) []*apiv1.File {
	hash := sha256.Sum256([]byte(s.Key))
	settings, _ := json.Marshal(map[string]any{ // texts and a number can always be encoded
		"base_url": s.BasePath, "port": s.Port, "header": Header, "key_sha256": hex.EncodeToString(hash[:]),
	})
	file := func(name string, content []byte) *apiv1.File {
		return &apiv1.File{Path: dir + "/" + name, Type: '0', Mode: 0o600, Uid: s.UID, Gid: s.GID, Content: content}
	}
	return []*apiv1.File{
		{Path: dir, Type: '5', Mode: 0o700, Uid: s.UID, Gid: s.GID},
		file(entrypointFile, embedded(entrypointFile)), file(configFile, embedded(configFile)), file(settingsFile, settings),
	}
}

func embedded(name string) []byte {
	b, _ := files.ReadFile(name) // it is embedded
	return b
}
