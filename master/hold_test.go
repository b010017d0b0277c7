package master

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/server"
)

// held runs a master on hold with the data directory of cfg until the test ends, and returns its
// address.
func held(t *testing.T, cfg config.Master) string {
	t.Helper()
	l, err := listenAll(t.Context(), "127.0.0.1", 0)
	if err != nil {
		t.Fatal(err)
	}
	d, err := openDeps(t.Context(), parts(cfg))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- d.runOnHold(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the master on hold ended with %v", err)
		}
		if err := d.closeAll(); err != nil {
			t.Error(err)
		}
	})
	return "http://" + l.Addr().String()
}

// parts returns the parts of a master without a cloud or a log.
func parts(cfg config.Master) Parts {
	return Parts{Config: cfg, Version: "1.2.3", Log: slog.DiscardHandler}
}

func ask(t *testing.T, method, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }() // read to the end
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// rehearsed polls /info until the rehearsal is done.
func rehearsed(t *testing.T, master string) server.Rehearsal {
	t.Helper()
	var info struct {
		OnHold    bool `json:"on_hold"`
		Rehearsal server.Rehearsal
	}
	for deadline := time.Now().Add(20 * time.Second); ; {
		_, body := ask(t, http.MethodGet, master+"/info")
		if err := json.Unmarshal([]byte(body), &info); err != nil || !info.OnHold {
			t.Fatalf("got %s and %v, want a master on hold", body, err)
		}
		if info.Rehearsal.Done {
			return info.Rehearsal
		}
		if time.Now().After(deadline) {
			t.Fatalf("the rehearsal does not end: %s", body)
		}
		<-time.After(10 * time.Millisecond)
	}
}

// served creates a store as a master does that has run once.
func served(t *testing.T, cfg config.Master) {
	t.Helper()
	d, err := openDeps(t.Context(), parts(cfg))
	if err != nil {
		t.Fatal(err)
	}
	m, err := openMaster(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	m.closeLogs()
	if err := d.closeAll(); err != nil {
		t.Fatal(err)
	}
}

func holdConfig(t *testing.T) config.Master {
	t.Helper()
	cfg, _, err := config.Load(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg.DataDir, cfg.BindIP = t.TempDir(), "127.0.0.1"
	cfg.Security.InitialUserPassword, err = secret.Parse("Initial-1234")
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func TestMasterOnHoldRehearsesAndAcceptsNoRequests(t *testing.T) {
	t.Parallel()
	cfg := holdConfig(t)
	served(t, cfg)
	path := filepath.Join(cfg.DataDir, databaseFile)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	master := held(t, cfg)
	if r := rehearsed(t, master); r.Error != "" || r.SchemaFrom != 7 || r.SchemaTo != 7 {
		t.Errorf("got %+v, want a rehearsal that went well, from and to version 7", r)
	}
	for _, tc := range []struct {
		method, path string
		code         int
		want         string
	}{
		{"GET", "/healthz", 200, `"status":"on hold"`},
		{"GET", "/api/v1/master", 200, "(on hold)"},
		{"POST", "/api/v1/auth/login", 503, `"reason":"Unavailable"`},
		{"GET", "/agents", 503, "rejects requests until the upgrade is committed"},
		{"GET", "/binaries/linux-amd64", 503, "rejects requests until the upgrade is committed"},
	} {
		if code, body := ask(t, tc.method, master+tc.path); code != tc.code || !strings.Contains(body, tc.want) {
			t.Errorf("%s %s: got %d %s, want %d with %s", tc.method, tc.path, code, body, tc.code, tc.want)
		}
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the store has changed (%v)", err)
	}
	if names, err := os.ReadDir(cfg.DataDir); err != nil || len(names) != 2 { // the store and its lock
		t.Errorf("got %v and %v in the data directory, want nothing besides the store", names, err)
	}
}

func TestMasterOnHoldReportsWhyItCannotServe(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		spoil func(*testing.T, *config.Master)
		want  string
	}{
		{"a damaged store", func(t *testing.T, cfg *config.Master) {
			t.Helper()
			if err := os.WriteFile(filepath.Join(cfg.DataDir, databaseFile), []byte(strings.Repeat("not a database ", 100)), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "not a database"},
		{"a secret that is not there", func(t *testing.T, cfg *config.Master) {
			t.Helper()
			var err error
			if cfg.Security.InitialUserPassword, err = secret.Parse("file:/nowhere/at/all"); err != nil {
				t.Fatal(err)
			}
		}, "security.initial_user_password"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			cfg := holdConfig(t)
			tc.spoil(t, &cfg)
			master := held(t, cfg)
			if r := rehearsed(t, master); !strings.Contains(r.Error, tc.want) {
				t.Errorf("got %+v, want an error with %q", r, tc.want)
			}
			if code, body := ask(t, http.MethodGet, master+"/health"); code != 503 || !strings.Contains(body, tc.want) {
				t.Errorf("got %d %s, want that it is not well, and why", code, body)
			}
		})
	}
}
