package podinit

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

func packed(t *testing.T, headers ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, h := range headers {
		content := strings.Repeat("x", int(h.Size))
		h.Uid, h.Gid = os.Getuid(), os.Getgid()
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func file(name string, size, mode int64) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeReg, Size: size, Mode: mode}
}

func dir(name string, mode int64) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeDir, Mode: mode}
}

func link(name, to string) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: to, Mode: 0o777}
}

// world contains a pod's two directories.
type world struct {
	Config
	t *testing.T
}

func newWorld(t *testing.T, o Order, files, ca []byte) world {
	t.Helper()
	o.UID, o.GID, o.Task = os.Getuid(), os.Getgid(), "t 1"
	keys, err := o.Keys(files, ca, "session")
	if err != nil {
		t.Fatal(err)
	}
	w := world{t: t, Config: Config{
		OrderDir: t.TempDir(), FilesDir: t.TempDir(), Log: slog.New(slog.DiscardHandler), Patience: 5 * time.Second,
	}}
	for name, data := range keys {
		if err := os.WriteFile(filepath.Join(w.OrderDir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// tree lists the volume.
func (w world) tree() []string {
	w.t.Helper()
	var out []string
	err := filepath.WalkDir(w.FilesDir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == w.FilesDir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(w.FilesDir, name)
		line := fmt.Sprintf("%v %s", info.Mode(), rel)
		if info.Mode().IsRegular() {
			line += fmt.Sprintf(" %d", info.Size())
		}
		out = append(out, line)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// answer is a master's response with a context directory.
func answer(archive []byte) string {
	return `{ "b64Tgz":"` + base64.StdEncoding.EncodeToString(archive) + `"}`
}

func TestRun(t *testing.T) {
	t.Parallel()
	own := packed(t, dir("run/", 0o700), dir("run/workdir/", 0o750), file("run/etc/passwd", 3, 0o644), file("files/2", 1, 0o600))
	sent := packed(t, dir("./", 0o755), dir("src/", 0o555), file("src/train.py", 200_000, 0o640), link("now", "src"))
	var asked atomic.Int32
	master := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch n := asked.Add(1); {
		case r.Header.Get("Grpc-Metadata-x-allocation-token") != "Bearer session" || r.URL.Path != "/api/v1/tasks/t 1/context_directory":
			w.WriteHeader(http.StatusForbidden)
		case n == 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case n == 2: // truncated
			_, _ = w.Write([]byte(answer(sent)[:len(answer(sent))/2]))
		default:
			_, _ = w.Write([]byte(answer(sent)))
		}
	}))
	defer master.Close()
	w := newWorld(t, Order{Master: master.URL, Context: "run/workdir"}, own, nil)
	w.Environ = []string{"DET_TASK_ID=t 1", "DET_AGENT_ID=node1"}
	info := agentv1.ClusterInfo(w.Environ)
	want := []string{
		"drwxr-xr-x files", "-rw------- files/2 1",
		"drwx------ run", "drwxr-xr-x run/etc", "-rw-r--r-- run/etc/passwd 3",
		"drwxr-xr-x run/info", fmt.Sprintf("-rw------- run/info/cluster.json %d", len(info)), "-rw------- run/info/resources.json 17",
		"drwxr-x--- run/workdir", "Lrwxrwxrwx run/workdir/now",
		"dr-xr-xr-x run/workdir/src", "-rw-r----- run/workdir/src/train.py 200000",
	}
	for range 2 { // an init container runs again if the pod's sandbox is lost
		if err := Run(t.Context(), w.Config); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(w.tree(), want); diff != "" {
			t.Errorf("got - want +:\n%s", diff)
		}
	}
	if got, err := os.ReadFile(filepath.Join(w.FilesDir, clusterInfoFile)); err != nil || string(got) != string(info) {
		t.Errorf("got %s, %v, want %s", got, err, info)
	}
}

// Only the container knows its GPUs. A file without GPUs would override that.
func TestGPUsAreSelectedByContainer(t *testing.T) {
	t.Parallel()
	for _, gpus := range []bool{false, true} {
		w := newWorld(t, Order{GPUs: gpus}, packed(t), nil)
		if err := Run(t.Context(), w.Config); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(w.FilesDir, resourcesInfoFile))
		if gpus && !os.IsNotExist(err) || !gpus && string(got) != "{\"gpu_uuids\":[]}\n" {
			t.Errorf("with GPUs %t: got %q, %v", gpus, got, err)
		}
	}
}

func TestNoContextNeedsNoMaster(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Order{Master: "http://127.0.0.1:1"}, packed(t, dir("run/", 0o700)), nil)
	if err := Run(t.Context(), w.Config); err != nil {
		t.Error(err)
	}
}

func TestEmptyContext(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{"b64Tgz":""}`, `{}`, ` { "b64Tgz" : "" } `} {
		master := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }))
		defer master.Close()
		w := newWorld(t, Order{Master: master.URL, Context: "work"}, packed(t, dir("run/", 0o700)), nil)
		if err := Run(t.Context(), w.Config); err != nil {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, body, want string
		status           int
	}{
		{"an old token", `{"error":{"reason":"no"}}`, "403 Forbidden: {\"error\"", http.StatusForbidden},
		{"a path out of the directory", answer(packed(t, file("../x", 1, 0o600))), "outside of the work directory", 0},
		{"an absolute path", answer(packed(t, file("/etc/x", 1, 0o600))), "outside of the work directory", 0},
		{"a link out of the directory", answer(packed(t, link("x", "../../y"))), "outside of the work directory", 0},
		{"a device", answer(packed(t, tar.Header{Name: "x", Typeflag: tar.TypeChar})), "only files, directories and symbolic links", 0},
		{"no archive", `{"b64Tgz":"eHh4eHh4eHh4eHh4eHh4eHh4"}`, "read the archive", 0},
		{"another answer", `<html>`, "invalid response from the master", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			master := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if test.status != 0 {
					w.WriteHeader(test.status)
				}
				_, _ = w.Write([]byte(test.body))
			}))
			defer master.Close()
			w := newWorld(t, Order{Master: master.URL, Context: "work"}, packed(t), nil)
			w.Patience = time.Hour
			if err := Run(t.Context(), w.Config); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q in it, at once", err, test.want)
			}
		})
	}
}

func TestTrust(t *testing.T) {
	t.Parallel()
	master := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"b64Tgz":""}`)) }))
	defer master.Close()
	master.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: master.Certificate().Raw})
	for _, test := range []struct {
		name  string
		order Order
		ca    []byte
		want  string
	}{
		{"the authority it was given", Order{}, ca, ""},
		{"the name in the certificate", Order{CertName: "example.com"}, ca, ""},
		{"another name", Order{CertName: "other.test"}, ca, "does not trust the master's certificate"},
		{"nobody it knows", Order{}, nil, "does not trust the master's certificate"},
		{"anybody, as it was told", Order{NoVerify: true}, nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := test.order
			o.Master, o.Context = master.URL, "work"
			w := newWorld(t, o, packed(t), test.ca)
			err := Run(t.Context(), w.Config)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestMasterThatStaysAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Order{Master: "http://127.0.0.1:1", Context: "work"}, packed(t), nil)
	w.Patience = 300 * time.Millisecond
	err := Run(t.Context(), w.Config)
	if err == nil || !strings.Contains(err.Error(), "did not answer for 300ms") {
		t.Errorf("got %v, want an error that the master did not answer", err)
	}
}
