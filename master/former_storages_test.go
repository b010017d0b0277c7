package master

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/policy"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/test/storetest"
)

// An experiment that is paused or queued while the cluster's storage changes resumes with the
// storage of its creation.
func TestFormerCheckpointStorageStaysAllowed(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	change := func(do func(tx *store.Tx) error) {
		t.Helper()
		if err := s.Write(t.Context(), do); err != nil {
			t.Fatal(err)
		}
	}
	shared := func(dir string) *config.CheckpointStorage {
		return &config.CheckpointStorage{SharedFS: &config.SharedFSStorage{HostPath: dir, Propagation: "rprivate"}}
	}
	bucket := &config.CheckpointStorage{GCS: &config.GCSStorage{Bucket: "b"}}
	create := func(id int32, dir string) {
		t.Helper()
		change(func(tx *store.Tx) error {
			c := record.Config{Complete: []byte("checkpoint_storage: {type: shared_fs, host_path: " + dir + "}")}
			return record.Docs().Configs.Put(tx, record.Key(id), "", time.Time{}, c)
		})
	}
	// mayMount starts a master with a storage.
	mayMount := func(what string, with *config.CheckpointStorage, want map[string]bool) {
		t.Helper()
		cfg := config.DefaultMaster()
		cfg.CheckpointStorage, cfg.ResourcePools = with, []config.Pool{config.DefaultPool("default")}
		m := &Master{deps: &deps{parts: Parts{Config: cfg}, store: s, log: slog.New(slog.DiscardHandler)}}
		former, err := m.formerMounts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, pool := range []string{"default", "a former pool"} {
			got := make(map[string]bool)
			for dir := range want {
				mount := policy.Asked{Mounts: []policy.Mount{{Field: "checkpoint_storage.host_path", Path: dir, Propagation: "rprivate", Storage: true}}}
				got[dir] = policy.Check(taskPolicies(cfg, former)(pool), mount) == nil
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, pool %s (-want +got):\n%s", what, pool, diff)
			}
		}
	}
	mayMount("at first", shared("/srv/a"), map[string]bool{"/srv/a": true, "/srv/b": false})
	create(1, "/srv/a")
	mayMount("another directory", shared("/srv/b"), map[string]bool{"/srv/a": true, "/srv/b": true})
	mayMount("a bucket", bucket, map[string]bool{"/srv/a": true, "/srv/b": false, "/srv": false})
	change(func(tx *store.Tx) error { return record.Docs().Configs.Delete(tx, record.Key(1)) })
	mayMount("its experiments are deleted", bucket, map[string]bool{"/srv/a": false})
	create(2, "/srv/a/below")
	mayMount("another directory again", shared("/srv/a"), map[string]bool{"/srv/a": true})
	mayMount("a bucket again, and one uses a directory below", bucket, map[string]bool{"/srv/a": false})
	create(2, "/srv/a")
	mayMount("forgotten", bucket, map[string]bool{"/srv/a": false})
}

func TestFormerStorageLogListsExperiments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		last int32
		want string
	}{
		{1, `experiments=1`},
		{10, `experiments="1, 2, 3, 4, 5, 6, 7, 8, 9, 10"`},
		{12, `experiments="1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more"`},
	} {
		s := storetest.New(t)
		err := s.Write(t.Context(), func(tx *store.Tx) error {
			for id := c.last; id > 0; id-- {
				used := record.Config{Complete: []byte("checkpoint_storage: {type: shared_fs, host_path: /srv/a}")}
				if err := record.Docs().Configs.Put(tx, record.Key(id), "", time.Time{}, used); err != nil {
					return err
				}
			}
			return sharedDirectories().Put(tx, "/srv/a", "", time.Time{}, sharedDirectory{Path: "/srv/a"})
		})
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		m := &Master{deps: &deps{parts: Parts{Config: config.DefaultMaster()}, store: s, log: slog.New(slog.NewTextHandler(&log, nil))}}
		if _, err := m.formerMounts(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(log.String()); !strings.HasSuffix(got, "host_path=/srv/a "+c.want) {
			t.Errorf("%d experiments: got %s, want %s at its end", c.last, got, c.want)
		}
	}
}
