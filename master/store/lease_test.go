package store_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/store/database"
	"github.com/det-deploy/det-deploy/test/postgrestest"
	"github.com/det-deploy/det-deploy/test/storetest"
)

func TestSecondMasterOnSQLite(t *testing.T) {
	t.Parallel()
	cfg := store.Config{Path: filepath.Join(t.TempDir(), "store.db")}
	first := storetest.Open(t, cfg)
	_, err := store.Open(t.Context(), cfg)
	held, is := errors.AsType[*database.HeldError](err)
	if !is || held.PID == 0 || held.Host == "" || !errors.Is(err, database.ErrHeld) {
		t.Fatalf("got %v, want an error with process and host", err)
	}
	put(t, first, store.Doc[fruit]{ID: "a"})
	reading := cfg
	reading.ReadOnly = true
	beside, err := store.Open(t.Context(), reading)
	if err != nil {
		t.Fatal(err)
	}
	defer closeStore(t, beside)
	if got := ids(t)(fruits.All(t.Context(), beside)); got != "a" {
		t.Errorf("read beside the master: got %q", got)
	}
	if err := beside.Write(t.Context(), func(*store.Tx) error { return nil }); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("write beside the master: got %v", err)
	}
	closeStore(t, first)
	storetest.Open(t, cfg)
}

func TestSecondMasterOnPostgres(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t, postgrestest.Options{})
	cfg := store.Config{URL: store.URL(server.URL()), LeaseTTL: 3 * time.Second} // a busy machine may delay a renewal by one second
	open := func() *store.Store {
		s, err := store.Open(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { closeStore(t, s) })
		return s
	}
	first, second := open(), open()
	lease, err := first.Acquire(t.Context(), "first")
	if err != nil {
		t.Fatal(err)
	}
	// Idle for longer than the TTL: only renewals keep the second process out.
	for deadline := time.Now().Add(3 * cfg.LeaseTTL / 2); time.Now().Before(deadline); {
		_, err := second.Acquire(t.Context(), "second")
		held, is := errors.AsType[*database.HeldError](err)
		if !is || held.Owner != "first" || held.Until.IsZero() || !strings.Contains(err.Error(), "first") {
			t.Fatalf("got %v, want an error with the first", err)
		}
	}
	put(t, first, store.Doc[fruit]{ID: "a"})
	// A new process of the same owner takes over while the former one is still running.
	again := open()
	newer, err := again.Acquire(t.Context(), "first")
	if err != nil || newer.Epoch != lease.Epoch+1 {
		t.Fatalf("got %+v error %v, want the next epoch", newer, err)
	}
	put(t, again, store.Doc[fruit]{ID: "b"})
	for range 2 {
		err = first.Write(t.Context(), func(tx *store.Tx) error { return fruits.Put(tx, "c", "", time.Time{}, fruit{}) })
		if !errors.Is(err, store.ErrFenced) {
			t.Fatalf("the fenced master: got %v, want ErrFenced", err)
		}
	}
	<-lease.Lost()
	if got := ids(t)(fruits.All(t.Context(), again)); got != "a b" {
		t.Fatalf("got %q", got)
	}
	// A master releases its lease at its end, so that the next one need not wait.
	closeStore(t, again)
	if _, err := second.Acquire(t.Context(), "second"); err != nil {
		t.Fatal(err)
	}
}

func TestPostgresGoesAwayAndComesBack(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t, postgrestest.Options{Fsync: true})
	s := storetest.Open(t, store.Config{URL: store.URL(server.URL()), LeaseTTL: time.Second})
	put(t, s, store.Doc[fruit]{ID: "a"})
	for name, end := range map[string]func(){"stopped": server.Stop, "crashed": server.Crash} {
		end()
		write := func() error {
			return s.Write(t.Context(), func(tx *store.Tx) error { return fruits.Put(tx, name, "", time.Time{}, fruit{}) })
		}
		for range 3 {
			if err := write(); !errors.Is(err, store.ErrUnavailable) {
				t.Fatalf("%s: write: got %v, want ErrUnavailable", name, err)
			}
			if _, err := fruits.All(t.Context(), s); !errors.Is(err, store.ErrUnavailable) {
				t.Fatalf("%s: read: got %v, want ErrUnavailable", name, err)
			}
		}
		server.Launch()
		if err := write(); err != nil {
			t.Fatalf("%s: after the return: %v", name, err)
		}
		if _, found, err := fruits.Get(t.Context(), s, "a"); !found || err != nil {
			t.Fatalf("%s: got found %t error %v", name, found, err)
		}
	}
	// A restart of the server between two writes causes no error.
	server.Stop()
	server.Launch()
	put(t, s, store.Doc[fruit]{ID: "z"})
}

func TestAddressIsSecret(t *testing.T) {
	t.Parallel()
	for _, address := range []store.URL{
		"postgres://u:hunter2@127.0.0.1:1/db", "postgres://u:hunter2@127.0.0.1:bad/db", "host=127.0.0.1 port=1 password=hunter2 sslmode=x",
	} {
		_, err := store.Open(t.Context(), store.Config{URL: address})
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("got %v, want an error without the password", err)
		}
	}
}
