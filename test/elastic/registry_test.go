package elastic_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

// registry is an Artifact Registry with one image, which a caller with an access token may pull.
// See
// https://cloud.google.com/artifact-registry/docs/docker/authentication#token
type registry struct {
	world *gcptest.World
	// puller is the account that may pull.
	puller string
	// blobs are the parts of the image by digest; manifest is served for its tag.
	blobs    map[string][]byte
	manifest []byte
}

const manifestType = "application/vnd.docker.distribution.manifest.v2+json"

// newRegistry returns a registry with an image whose programs are those of BusyBox.
func newRegistry(t *testing.T, puller string) *registry {
	t.Helper()
	r := &registry{puller: puller, blobs: map[string][]byte{}}
	layer := busyboxLayer(t)
	config := encode(t, map[string]any{
		"architecture": "amd64", "os": "linux", "config": map[string]any{"Env": []string{"PATH=/bin"}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{digest(layer)}},
	})
	part := func(kind string, data []byte) map[string]any {
		r.blobs[digest(data)] = data
		return map[string]any{"mediaType": "application/vnd.docker." + kind, "size": len(data), "digest": digest(data)}
	}
	r.manifest = encode(t, map[string]any{
		"schemaVersion": 2, "mediaType": manifestType, "config": part("container.image.v1+json", config),
		"layers": []any{part("image.rootfs.diff.tar", layer)},
	})
	return r
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func busyboxLayer(t *testing.T) []byte {
	t.Helper()
	program, err := os.ReadFile("/bin/busybox")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	heads := []*tar.Header{
		{Name: "bin/", Typeflag: tar.TypeDir, Mode: 0o755},
		{Name: "bin/busybox", Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(program))},
	}
	for _, name := range []string{"sh", "echo", "ls", "hostname"} {
		heads = append(heads, &tar.Header{Name: "bin/" + name, Typeflag: tar.TypeSymlink, Linkname: "busybox"})
	}
	for _, h := range heads {
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := w.Write(program); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func (r *registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	_, token, _ := req.BasicAuth() // Docker sends the credentials from its credential helper
	if c, known := r.world.CallerOf(token); !known || c.Member != r.puller {
		w.Header().Set("WWW-Authenticate", `Basic realm="gcr.io"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	data, kind := r.manifest, manifestType
	if _, sum, isBlob := strings.Cut(req.URL.Path, "/blobs/"); isBlob {
		data, kind = r.blobs[sum], "application/octet-stream"
	} else if req.URL.Path == "/v2/" {
		data, kind = []byte("{}"), "application/json"
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Docker-Content-Digest", digest(data))
	_, _ = w.Write(data)
}
