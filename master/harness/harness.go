// Package harness serves the cluster's wheels of the client library to tasks whose images lack the
// library.
package harness

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/det-deploy/det-deploy/master/config/container"
)

// mostBytes is far above the size of any version of the library, which is below one megabyte.
const mostBytes = 64 << 20

// Wheels holds the wheels that the master loaded at its start.
type Wheels struct {
	byPath map[string]wheel
	byFile map[string]container.Wheel
}

type wheel struct {
	name, sum string
	content   []byte
}

// Load reads a wheel and returns it with its hash. It returns an error that names the file if the
// file cannot be read or its hash differs from the configured one.
func (w *Wheels) Load(c container.Wheel) (container.Wheel, error) {
	if c.File == "" {
		return c, nil
	}
	loaded, found := w.byFile[c.File]
	if !found {
		content, err := readWheel(c.File)
		if err != nil {
			return c, err
		}
		sum := sha256.Sum256(content)
		loaded = container.Wheel{File: c.File, SHA256: hex.EncodeToString(sum[:])}
		w.addWheel(loaded, content)
	}
	if c.SHA256 != "" && c.SHA256 != loaded.SHA256 {
		return c, fmt.Errorf("%s has the SHA-256 %s instead of %s; replace the file, or correct the hash", c.File, loaded.SHA256, c.SHA256)
	}
	return loaded, nil
}

func (w *Wheels) addWheel(c container.Wheel, content []byte) {
	if w.byPath == nil {
		w.byPath, w.byFile = map[string]wheel{}, map[string]container.Wheel{}
	}
	w.byPath[c.URLPath()] = wheel{filepath.Base(c.File), c.SHA256, content}
	w.byFile[c.File] = c
}

func readWheel(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, fmt.Errorf("read the wheel: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() == 0 || info.Size() > mostBytes {
		return nil, fmt.Errorf("read the wheel %s: it must be a file of at most %d MB", file, mostBytes>>20)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the wheel: %w", err)
	}
	return content, nil
}

// ServeHTTP serves the wheel at the request's path. The caller has authorized the request.
func (w *Wheels) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	found, ok := w.byPath[r.URL.Path]
	if !ok {
		http.Error(rw, "wheel not found: the configuration of the master has changed since the task started", http.StatusNotFound)
		return
	}
	rw.Header().Set("Content-Type", "application/octet-stream")
	rw.Header().Set("ETag", `"`+found.sum+`"`)
	http.ServeContent(rw, r, found.name, time.Time{}, bytes.NewReader(found.content))
}
