package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/store/archive"
	"github.com/det-deploy/det-deploy/test/postgrestest"
	"github.com/det-deploy/det-deploy/test/storetest"
)

func fill(t testing.TB, s *store.Store) {
	t.Helper()
	if err := s.Write(t.Context(), func(tx *store.Tx) error {
		var errs []error
		for i := range 300 {
			errs = append(errs, fruits.Put(tx, fmt.Sprint("id", i), "ü", time.UnixMicro(int64(i)), fruit{Size: i}),
				store.PutChunk(tx, store.Chunk{Task: "t", Pos: int64(i), Lines: 1, FirstSeq: -1, LastSeq: -1, Data: bytes.Repeat([]byte{byte(i), 0}, i)}),
				store.PutMetric(tx, store.MetricRow{Trial: 7, Group: "training", Steps: int64(i), Run: 1, At: int64(i), Doc: fmt.Append(nil, i)}))
		}
		for _, r := range drawRows(300) {
			_, err := store.AddTaskRow(tx, r)
			errs = append(errs, err)
		}
		store.CountBytes(tx, store.UserBytes{UserID: 7, Kind: "logs", Bytes: 1 << 40})
		set := store.BlobSet{Owner: 7, Context: hashOf("context")}
		_, err := store.AddBlob(tx, set, hashOf("missing"), nil)
		errs = append(errs, err, store.AddBlobRefs(tx, set, []store.Hash{hashOf("blob"), hashOf("missing")}))
		_, err = store.AddBlob(tx, set, hashOf("blob"), bytes.Repeat([]byte{0, 0xff}, 1000))
		errs = append(errs, err)
		return errors.Join(append(errs, store.SetLogMark(tx, "t", "c", 300))...)
	}); err != nil {
		t.Fatal(err)
	}
}

// content returns everything that a backup must contain.
func content(t *testing.T, s *store.Store) string {
	t.Helper()
	docs, err := fruits.All(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	chunks, err := store.Chunks(t.Context(), s, store.ChunkRange{Task: "t", Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	next, err := store.LogMark(t.Context(), s, "t", "c")
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := store.MetricRows(t.Context(), s, store.AllMetrics(7, "training", 1000))
	if err != nil || len(metrics) == 0 {
		t.Fatalf("got %d rows of metrics and %v", len(metrics), err)
	}
	groups, err := store.TaskGroups(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(groups, func(a, b store.TaskGroup) int { return int(a.ID - b.ID) })
	tasks, err := store.TaskIDs(t.Context(), s, store.TaskPage{Groups: groups, All: groups, Order: store.ByTaskName, Limit: 1000})
	if err != nil || len(tasks) == 0 {
		t.Fatalf("got %d listed tasks and %v", len(tasks), err)
	}
	blob, found, err := store.Blob(t.Context(), s, 7, hashOf("blob"))
	if err != nil || !found {
		t.Fatalf("got no blob and %v", err)
	}
	missing, err := store.MissingBlobs(t.Context(), s, store.BlobSet{Owner: 7, Context: hashOf("context")})
	if err != nil || len(missing) != 1 {
		t.Fatalf("got %d missing blobs and %v, want 1", len(missing), err)
	}
	return fmt.Sprint(s.Meta().ClusterID, s.Meta().CreatedAt, docs, chunks, next, metrics, groups, tasks, userBytes(t, s), string(blob), missing)
}

func roundTrip(t *testing.T, from, to store.Config) {
	t.Helper()
	s := storetest.Open(t, from)
	fill(t, s)
	want := content(t, s)
	var file bytes.Buffer
	if err := s.Backup(t.Context(), &file); err != nil {
		t.Fatal(err)
	}
	if err := store.Restore(t.Context(), bytes.NewReader(file.Bytes()), to); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(content(t, storetest.Open(t, to)), want); d != "" {
		t.Fatal(d)
	}
}

func TestBackupSQLite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	roundTrip(t, store.Config{Path: filepath.Join(dir, "a.db")}, store.Config{Path: filepath.Join(dir, "b.db")})
}

func TestBackupMovesBetweenDatabases(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t, postgrestest.Options{})
	dir := t.TempDir()
	first, second := store.Config{URL: store.URL(server.URL())}, store.Config{URL: store.URL(server.URL())}
	roundTrip(t, store.Config{Path: filepath.Join(dir, "a.db")}, first)
	roundTrip(t, second, store.Config{Path: filepath.Join(dir, "b.db")})
}

// Some bits of a compressed stream have no effect, such as the length of an unused code. A modified
// file is therefore rejected or restores exactly the saved data.
func TestRestoreOfAChangedFile(t *testing.T) {
	t.Parallel()
	from := storetest.New(t)
	fill(t, from)
	want := content(t, from)
	var buf bytes.Buffer
	if err := from.Backup(t.Context(), &buf); err != nil {
		t.Fatal(err)
	}
	refused := 0
	for i := range 20 {
		file := bytes.Clone(buf.Bytes())
		file[len(file)*i/20] ^= 1
		into := store.Config{Path: filepath.Join(t.TempDir(), fmt.Sprint(i), "into.db")}
		err := store.Restore(t.Context(), bytes.NewReader(file), into)
		if errors.Is(err, archive.ErrDamaged) {
			refused++
			continue
		}
		if err != nil {
			t.Errorf("bit after %d/20: got %v, want ErrDamaged", i, err)
		} else if d := cmp.Diff(content(t, storetest.Open(t, into)), want); d != "" {
			t.Errorf("bit after %d/20: accepted, and different: %s", i, d)
		}
	}
	if refused < 15 {
		t.Errorf("got %d of 20 changed files refused", refused)
	}
}

func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from := storetest.New(t)
	fill(t, from)
	var buf bytes.Buffer
	if err := from.Backup(t.Context(), &buf); err != nil {
		t.Fatal(err)
	}
	whole := buf.Bytes()
	into := store.Config{Path: filepath.Join(dir, "into.db")}
	bad := map[string][]byte{
		"an empty file": nil, "another file": []byte("PGDMP and so on, long enough to be read"),
		"a longer file": append(bytes.Clone(whole), "more"...),
	}
	for i := 1; i < 20; i++ {
		bad[fmt.Sprintf("%d/20 of a file", i)] = whole[:len(whole)*i/20]
	}
	bad["all but its last byte"] = whole[:len(whole)-1]
	for name, file := range bad {
		if err := store.Restore(t.Context(), bytes.NewReader(file), into); !errors.Is(err, archive.ErrDamaged) {
			t.Errorf("%s: got %v, want ErrDamaged", name, err)
		}
	}
	if err := store.Restore(t.Context(), bytes.NewReader(whole), into); err != nil {
		t.Fatalf("after all these refusals: %v", err)
	}
	if err := store.Restore(t.Context(), bytes.NewReader(whole), into); !errors.Is(err, store.ErrNotEmpty) {
		t.Fatalf("into a full store: got %v, want ErrNotEmpty", err)
	}
}
