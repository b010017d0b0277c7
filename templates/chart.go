package templates

import (
	"bytes"
	"embed"
	"io"
	"io/fs"
	"regexp"
	"strings"
	"time"
)

//go:embed all:chart
var chartFiles embed.FS

// chartMeta is the only file of the chart that depends on the version.
const chartMeta = "Chart.yaml"

// Chart returns the Helm chart of a cluster as a file system, with the version of det-deploy, which is
// also the tag of the master's image.
func Chart(version string) fs.FS {
	dir, err := fs.Sub(chartFiles, "chart")
	if err != nil { // the name is a constant
		panic(err)
	}
	raw, err := fs.ReadFile(dir, chartMeta)
	if err != nil { // it is embedded
		panic(err)
	}
	return chart{FS: dir, meta: setVersion(raw, version)}
}

// A chart's version must be a semantic version. Any other version, such as that of a build from a
// checkout, is appended to 0.0.0.
var (
	semantic    = regexp.MustCompile(`^\d+\.\d+\.\d+([-+].*)?$`)
	unspeakable = regexp.MustCompile(`[^0-9A-Za-z.-]+`)
)

func setVersion(meta []byte, version string) []byte {
	own := strings.TrimPrefix(version, "v")
	if !semantic.MatchString(own) {
		own = "0.0.0-" + unspeakable.ReplaceAllString(own, "-")
	}
	meta = bytes.Replace(meta, []byte("\nversion: 0.0.0\n"), []byte("\nversion: "+own+"\n"), 1)
	return bytes.Replace(meta, []byte("\nappVersion: dev\n"), []byte("\nappVersion: \""+version+"\"\n"), 1)
}

// chart is the embedded folder with one file replaced.
type chart struct {
	fs.FS
	meta []byte
}

// Open implements fs.FS.
func (c chart) Open(name string) (fs.File, error) {
	f, err := c.FS.Open(name)
	if err != nil || name != chartMeta {
		return f, err
	}
	return &metaFile{File: f, r: bytes.NewReader(c.meta)}, nil
}

// metaFile has the mode of the embedded file and different contents.
type metaFile struct {
	fs.File
	r *bytes.Reader
}

// Read implements fs.File.
func (m *metaFile) Read(p []byte) (int, error) { return m.r.Read(p) }

// Stat implements fs.File.
func (m *metaFile) Stat() (fs.FileInfo, error) {
	info, err := m.File.Stat()
	return sized{FileInfo: info, size: m.r.Size()}, err
}

var (
	_ io.Reader   = (*metaFile)(nil)
	_ fs.FileInfo = sized{}
)

type sized struct {
	fs.FileInfo
	size int64
}

// Size implements fs.FileInfo.
func (s sized) Size() int64 { return s.size }

// ModTime implements fs.FileInfo. It returns the zero time, so that exports are reproducible.
func (sized) ModTime() time.Time { return time.Time{} }
