package follow_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cloud/host/follow"
	"github.com/det-deploy/det-deploy/cloud/host/manifest"
	"github.com/det-deploy/det-deploy/internal/atomicfile"
)

// world is a fake bucket, service manager and clock.
type world struct {
	t       *testing.T
	objects map[string][]byte
	down    error // error returned by the bucket
	gets    int
	puts    []manifest.Status

	running bool
	calls   []string
	sick    map[string]bool // programs or configurations that never become healthy

	root string
	now  time.Time
	self string
}

func newWorld(t *testing.T) *world {
	return &world{t: t, objects: map[string][]byte{}, sick: map[string]bool{}, root: t.TempDir(), now: time.Unix(1e9, 0)}
}

func (w *world) Changed(_ context.Context, key, mark string) ([]byte, string, error) {
	w.gets++
	data, found := w.objects[key]
	switch {
	case w.down != nil:
		return nil, "", w.down
	case !found:
		return nil, "", errors.New("does not exist")
	}
	now := hash(data)
	if now == mark {
		return nil, mark, nil
	}
	return data, now, nil
}

func (w *world) Fetch(_ context.Context, key string, to io.Writer) error {
	data, found := w.objects[key]
	if !found || w.down != nil {
		return fmt.Errorf("does not exist (%w)", w.down)
	}
	_, err := to.Write(data)
	return err
}

func (w *world) Put(_ context.Context, key string, data []byte) error {
	if key != manifest.StatusKey {
		w.t.Errorf("got a write of %s, want that only the status is written", key)
	}
	s, err := manifest.ParseStatus(data)
	w.puts = append(w.puts, s)
	return errors.Join(err, w.down)
}

func (w *world) Restart(context.Context, string) error {
	w.calls, w.running = append(w.calls, "restart "+w.program()), true
	return nil
}

func (w *world) Stop(context.Context, string) error {
	w.calls, w.running = append(w.calls, "stop"), false
	return nil
}

func (w *world) Running(context.Context, string) (bool, error) { return w.running, nil }

// program returns the content of the program that the master's unit runs.
func (w *world) program() string {
	data, err := os.ReadFile(filepath.Join(w.root, follow.Current, "det-deploy"))
	if err != nil {
		w.t.Errorf("read the program: %v", err)
	}
	env, err := os.ReadFile(filepath.Join(w.root, follow.Environment))
	if err != nil {
		w.t.Errorf("read the environment: %v", err)
	}
	return strings.TrimSpace(string(data) + " " + string(env))
}

func (w *world) well(context.Context, manifest.Health) error {
	if w.sick[w.program()] || w.sick[w.program()+" "+w.config()] {
		return errors.New("it answers 503")
	}
	return nil
}

func (w *world) follower() *follow.Follower {
	w.t.Helper()
	f, err := follow.New(follow.Config{
		Cluster: "lab", Instance: "i-1", Arch: "amd64", Bucket: w, Units: w, Well: w.well, Root: w.root, Self: w.self,
		Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return w.now },
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return f
}

// turn advances the clock past the poll interval and runs one cycle.
func (w *world) turn(f *follow.Follower) time.Duration {
	w.now = w.now.Add(follow.Every)
	return f.Turn(w.t.Context())
}

// put uploads a file and returns its manifest entry.
func (w *world) put(content string) manifest.File { return w.upload(content, manifest.FileKey) }

func (w *world) upload(content string, key func(sha256 string) string) manifest.File {
	sum := hash([]byte(content))
	w.objects[key(sum)] = []byte(content)
	return manifest.File{Key: key(sum), SHA256: sum, Mode: 0o640}
}

// want writes a manifest to the bucket.
func (w *world) want(generation int, program, config string, edit ...func(*manifest.Manifest)) {
	w.t.Helper()
	m := manifest.Manifest{
		Schema: manifest.Schema, Cluster: "lab", Generation: generation, Version: program, Phase: manifest.Serve,
		Binaries: map[string]manifest.File{"amd64": w.upload(program, manifest.BinaryKey)},
		Files:    map[string]manifest.File{manifest.ConfigFile: w.put(config)},
		Health:   manifest.Health{URL: "http://127.0.0.1:1/health"},
	}
	for _, e := range edit {
		e(&m)
	}
	data, err := m.Encode()
	if err != nil {
		w.t.Fatal(err)
	}
	w.objects[manifest.Key] = data
}

func (w *world) status() manifest.Status {
	if len(w.puts) == 0 {
		return manifest.Status{}
	}
	return w.puts[len(w.puts)-1]
}

func (w *world) config() string {
	data, _ := os.ReadFile(filepath.Join(w.root, manifest.ConfigFile)) // a missing file reads as empty
	return string(data)
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func TestFollowerAppliesManifest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.want(1, "one", "a: 1")
	f := w.follower()
	w.turn(f)
	if d := cmp.Diff(w.calls, []string{"restart one"}); d != "" {
		t.Fatalf("got -, want +:\n%s", d)
	}
	info, err := os.Stat(filepath.Join(w.root, manifest.ConfigFile))
	if err != nil || info.Mode().Perm() != 0o640 || w.config() != "a: 1" {
		t.Errorf("got %v, %v, %q; want the configuration as it was given", info, err, w.config())
	}
	if s := w.status(); !s.Ready || s.Error != "" || s.Generation != 1 || s.Version != "one" || s.ConfigSHA256 != hash([]byte("a: 1")) || s.Instance != "i-1" {
		t.Errorf("got %+v, want that it serves", s)
	}
	if pause := w.turn(f); len(w.calls) != 1 || len(w.puts) != 1 || pause != follow.Every {
		t.Errorf("got %v, %d statuses, %s; want no calls and no status without a change", w.calls, len(w.puts), pause)
	}
	w.want(2, "one", "a: 2")
	w.turn(f)
	w.want(3, "two", "a: 2", phase(manifest.Hold))
	w.turn(f)
	if d := cmp.Diff(w.calls, []string{"restart one", "restart one", "restart two DET_DEPLOY_MASTER_ARGS=--on-hold"}); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
	if s := w.status(); s.Phase != manifest.Hold || !s.Ready {
		t.Errorf("got %+v, want that it is on hold and well", s)
	}
	w.want(4, "one", "a: 2", phase(manifest.Stop))
	w.turn(f)
	if s := w.status(); w.running || s.Phase != manifest.Stop || s.Ready || s.Error != "" {
		t.Errorf("got running %v, %+v; want that it is stopped", w.running, s)
	}
}

func TestStatusIsRepeated(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.want(1, "one", "")
	f := w.follower()
	for range 21 { // ten minutes
		w.turn(f)
	}
	if got, want := len(w.puts), 3; got != want {
		t.Errorf("got %d statuses, want %d", got, want)
	}
}

func TestCorruptDownloadIsRejected(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		spoil func(*world)
		want  string
	}{
		"a program that was replaced":   {func(w *world) { w.objects[manifest.BinaryKey(hash([]byte("two")))] = []byte("evil") }, "the manifest has"},
		"a program that is not there":   {func(w *world) { delete(w.objects, manifest.BinaryKey(hash([]byte("two")))) }, "does not exist"},
		"a configuration not there":     {func(w *world) { delete(w.objects, manifest.FileKey(hash([]byte("a: 2")))) }, "does not exist"},
		"an invalid manifest":           {func(w *world) { w.objects[manifest.Key] = []byte("{") }, "read manifest.json"},
		"a manifest of another cluster": {func(w *world) { w.want(2, "two", "", func(m *manifest.Manifest) { m.Cluster = "prod" }) }, "it is for cluster prod, but this machine belongs to lab"},
		"an older manifest":             {func(w *world) { w.want(1, "zero", "") }, "generation 1 is older than the known generation 2"},
		"another architecture only": {func(w *world) {
			w.want(3, "two", "", func(m *manifest.Manifest) { m.Binaries["arm64"] = m.Binaries["amd64"]; delete(m.Binaries, "amd64") })
		}, "it has no program for architecture amd64"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.want(2, "one", "a: 1")
			f := w.follower()
			w.turn(f)
			w.want(3, "two", "a: 2")
			tt.spoil(w)
			w.turn(f)
			if len(w.calls) != 1 || w.program() != "one" || w.config() != "a: 1" {
				t.Errorf("got %v, %s, %s; want that the master before runs undisturbed", w.calls, w.program(), w.config())
			}
			if s := w.status(); !s.Ready || !strings.Contains(s.Error, tt.want) {
				t.Errorf("got %+v, want ready, and the error %s", s, tt.want)
			}
			w.want(4, "two", "a: 2") // fixed
			w.turn(f)
			if s := w.status(); w.program() != "two" || s.Error != "" {
				t.Errorf("got %s, %+v; want the corrected manifest applied", w.program(), s)
			}
		})
	}
}

func TestRollbackOnlyIfAllowed(t *testing.T) {
	t.Parallel()
	for _, may := range []bool{true, false} {
		t.Run(fmt.Sprintf("may go back: %v", may), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.sick["one a: 2"] = true
			w.want(1, "one", "a: 1")
			f := w.follower()
			w.turn(f)
			w.want(2, "one", "a: 2", func(m *manifest.Manifest) { m.Fallback = may })
			if pause := w.turn(f); pause != time.Second {
				t.Errorf("got a pause of %s, want a short one while somebody waits", pause)
			}
			if s := w.status(); s.Ready || s.Error != "" || s.ConfigSHA256 != hash([]byte("a: 2")) {
				t.Errorf("got %+v, want a master that is given time", s)
			}
			for range 8 {
				w.turn(f)
			}
			s := w.status()
			want := manifest.Status{
				Schema: manifest.StatusSchema, Generation: 2, Version: "one", Phase: manifest.Serve, ConfigSHA256: hash([]byte("a: 2")),
				Error: "it answers 503", Instance: "i-1", At: s.At,
			}
			if may {
				want.ConfigSHA256, want.Ready = hash([]byte("a: 1")), true
				want.Error = "the configuration of generation 2 did not become healthy within 3m0s: it answers 503; rolled back to generation 1"
			}
			if d := cmp.Diff(s, want); d != "" {
				t.Errorf("got -, want +:\n%s", d)
			}
			if may && w.config() != "a: 1" {
				t.Errorf("got configuration %s, want the one before", w.config())
			}
			f = w.follower() // a restart keeps the state
			w.turn(f)
			if got := w.config(); may != (got == "a: 1") {
				t.Errorf("after a restart: got %s", got)
			}
		})
	}
}

// The time for which a machine was off does not count as its master's time to start.
func TestAMasterHasItsTimeToStartAgainAfterABoot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.sick["one a: 2"] = true
	w.want(1, "one", "a: 1")
	f := w.follower()
	w.turn(f)
	w.want(2, "one", "a: 2", func(m *manifest.Manifest) { m.Fallback = true })
	w.turn(f)
	w.now, w.running = w.now.Add(time.Hour), false
	f = w.follower()
	w.turn(f)
	if got := w.config(); got != "a: 2" || !w.running {
		t.Errorf("right after the boot: got configuration %s and running %v, want a master that is given time", got, w.running)
	}
	for range 8 {
		w.turn(f)
	}
	if got := w.config(); got != "a: 1" {
		t.Errorf("got configuration %s, want the one before", got)
	}
}

func TestStartsKnownManifestWithoutBucket(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.want(1, "one", "a: 1")
	w.turn(w.follower())
	w.down, w.running, w.calls = errors.New("no network"), false, nil
	f := w.follower()
	w.turn(f)
	if d := cmp.Diff(w.calls, []string{"restart one"}); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
}

func TestNoPollsWhileMasterStarts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.sick["one"] = true
	w.want(1, "one", "")
	f := w.follower()
	w.turn(f)
	asked := w.gets
	for range 20 {
		w.now = w.now.Add(time.Second)
		f.Turn(t.Context())
	}
	if w.gets != asked || len(w.puts) != 1 {
		t.Errorf("got %d questions and %d statuses, want one of each", w.gets-asked, len(w.puts))
	}
}

func TestRunReturnsAfterHealthyUpgrade(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.want(1, "one", "")
	w.self = filepath.Join(w.root, "/var/lib/det-deploy/bin", hash([]byte("one")), "det-deploy")
	f := w.follower()
	w.turn(f)
	w.want(2, "two", "", phase(manifest.Hold))
	w.turn(f)
	if _, err := os.Stat(w.self); err != nil {
		t.Errorf("on hold: got %v, want that the way back is still there", err)
	}
	w.want(3, "two", "")
	w.now = w.now.Add(follow.Every)
	if err := f.Run(t.Context()); err != nil { // it returns, otherwise the test hangs
		t.Fatal(err)
	}
	if _, err := os.Stat(w.self); err != nil {
		t.Errorf("got %v, want that a program that runs is not removed", err)
	}
}

func TestChangedSettingsRestartProgram(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.want(1, "one", "", func(m *manifest.Manifest) { m.Logs = "/logs" })
	f := w.follower()
	logs := ""
	f.Tell = func(m manifest.Manifest) bool { return m.Logs != logs }
	w.now = w.now.Add(follow.Every)
	if err := f.Run(t.Context()); err != nil { // it returns, otherwise the test hangs
		t.Fatal(err)
	}
	if s := w.status(); !s.Ready {
		t.Errorf("got %+v, want a running master and a status", s)
	}
}

func TestUnusedFilesAreDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.want(1, "one", "a: 1", func(m *manifest.Manifest) { m.Files["/etc/determined/ca.pem"] = w.put("ca") })
	f := w.follower()
	w.turn(f)
	w.want(2, "two", "a: 1")
	w.turn(f)
	if _, err := os.Stat(filepath.Join(w.root, "/etc/determined/ca.pem")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want that the file went with the manifest that had it", err)
	}
	entries, err := os.ReadDir(filepath.Join(w.root, "/var/lib/det-deploy/bin"))
	if err != nil || len(entries) != 1 {
		t.Errorf("got %v, %v; want the one program that is in use", entries, err)
	}
}

func TestHoldReportsPermanentFailureImmediately(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.want(1, "one", "")
	f := w.follower()
	w.turn(f)
	f.Well = func(context.Context, manifest.Health) error { return &follow.DownError{Reason: "the store is newer"} }
	w.want(2, "two", "", phase(manifest.Hold))
	w.turn(f)
	if s := w.status(); s.Ready || s.Error != "the master reports a permanent failure: the store is newer" {
		t.Errorf("got %+v, want its reason without waiting", s)
	}
}

func TestPollIntervalWhileBusy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := w.follower()
	asked := func() int {
		before := w.gets
		for range 60 {
			w.now = w.now.Add(time.Second)
			f.Turn(t.Context())
		}
		return w.gets - before
	}
	if got := asked(); got != 12 {
		t.Errorf("before the first manifest: got %d questions a minute, want 12", got)
	}
	w.want(1, "one", "")
	asked()
	if got := asked(); got != 2 {
		t.Errorf("while it serves: got %d questions a minute, want 2", got)
	}
	for i, p := range []manifest.Phase{manifest.Hold, manifest.Stop} {
		w.want(2+i, "one", "", phase(p))
		asked()
		if got := asked(); got != 12 {
			t.Errorf("phase %s: got %d questions a minute, want 12", p, got)
		}
	}
}

func TestAllProgramsAreLinked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.want(1, "one", "", func(m *manifest.Manifest) { m.Binaries["arm64"] = w.upload("other", manifest.BinaryKey) })
	f := w.follower()
	w.turn(f)
	read := func() string {
		data, err := os.ReadFile(filepath.Join(w.root, manifest.BinariesDir, "linux-arm64"))
		if err != nil {
			return err.Error()
		}
		return string(data)
	}
	if got := read(); got != "other" {
		t.Errorf("got %q, want the program of the other architecture", got)
	}
	w.want(2, "one", "", func(m *manifest.Manifest) { m.Binaries["arm64"] = w.upload("newer", manifest.BinaryKey) })
	w.turn(f)
	if got := read(); got != "newer" || len(w.calls) != 2 {
		t.Errorf("got %q after %v, want the newer, and a master that was told", got, w.calls)
	}
	w.want(3, "one", "")
	w.turn(f)
	if got := read(); !strings.Contains(got, "no such file") {
		t.Errorf("got %q, want that it is not handed out any more", got)
	}
}

func TestMasterHealth(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		code int
		body string
		want string
	}{
		"it serves":      {200, `{"status":"up"}`, ""},
		"it starts":      {503, `{"status":"starting","reason":"the store is being tried"}`, "it reports: the store is being tried"},
		"it cannot":      {503, `{"status":"down","reason":"the store is newer"}`, "permanent failure: the store is newer"},
		"other response": {404, `not found`, "returned 404 Not Found"},
	}
	for name, tt := range tests {
		srv := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
			rw.WriteHeader(tt.code)
			_, _ = rw.Write([]byte(tt.body))
		}))
		root := t.TempDir()
		ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
		if err := os.WriteFile(filepath.Join(root, "ca.pem"), ca, 0o600); err != nil {
			t.Fatal(err)
		}
		err := follow.Well(t.Context(), root, manifest.Health{URL: srv.URL, CA: "/ca.pem", Name: "example.com"})
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: got %v, want %s", name, err, tt.want)
		}
		if err := follow.Well(t.Context(), root, manifest.Health{URL: srv.URL, CA: "/ca.pem", Name: "elsewhere"}); err == nil {
			t.Errorf("%s: got no error from a server of another name", name)
		}
		srv.Close()
	}
}

func TestDamagedStateFileIsNamed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "it is empty", `{"Wanted": {"sch`: "it ends in the middle", "\x00": "it is not the document"} {
		w := newWorld(t)
		w.want(1, "program", "config")
		w.turn(w.follower())
		path := stateOf(t, w.root)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		config := follow.Config{Root: w.root, Now: func() time.Time { return w.now }}
		_, err := follow.New(config)
		d, ok := errors.AsType[*atomicfile.DamagedError](err)
		if !ok || d.Path != path || !strings.Contains(err.Error(), want) || !strings.Contains(d.Fix, "delete it") {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if _, err := follow.New(config); err != nil {
			t.Errorf("after deleting the file: %v", err)
		}
	}
}

// stateOf returns the path of the follower's state file.
func stateOf(t *testing.T, root string) string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".json") {
			found = append(found, path)
		}
		return err
	})
	if err != nil || len(found) != 1 {
		t.Fatalf("got %v, %v, want one file", found, err)
	}
	return found[0]
}
