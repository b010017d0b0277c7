package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Tasks of the cluster in testdata/upgrade, all of user ada.
const (
	oldEnded   = "98b90913-a36d-5f4e-b09a-a1ef34a6f644"
	oldRunning = "f95ff4d5-8234-563f-aea3-a5e56e48ed52"
	oldQueued  = "8e72e1d0-7f45-518f-b12f-85e22ef564bb"
)

// TestStateOfPreviousVersionIsRead starts the current master and agent with the directories of
// those of commit d397a73 after they were killed, which testdata/upgrade contains. There, admin and
// ada had logged in, and gone was deactivated; ada's task ended had exited with 3, running held
// both slots of agent a, and queued waited for them. The machine no longer exists, so the process
// of running does not either. The directories were modified: the logins do not expire, the process
// has an impossible PID, and ended ended just now, because after a day it is no longer listed.
func TestStateOfPreviousVersionIsRead(t *testing.T) {
	t.Parallel()
	c := newCluster(t, clusterConfig{Agent: "container_runtime: process\n"})
	unpackOld(t, c.Dir)
	endNow(t, filepath.Join(c.Dir, "master", "master.db"))
	session, err := os.ReadFile(filepath.Join(c.Dir, "session-ada"))
	if err != nil {
		t.Fatal(err)
	}
	c.StartMaster()
	ada := &rawAPI{t: t, url: c.URL, token: strings.TrimSpace(string(session))}

	if b, err := ada.get("/api/v1/me"); err != nil || !strings.Contains(string(b), `"username":"ada"`) {
		t.Errorf("ada's session: got %s, %v", b, err)
	}
	for _, login := range []struct {
		user, password string
		works          bool
	}{
		{"admin", password, true},
		{"ada", "Ada-Lovelace-1", true},
		{"ada", "Ada-Lovelace-2", false},
		{"gone", "Gone-Person-1", false},
	} {
		body, err := json.Marshal(map[string]string{"username": login.user, "password": login.password})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (&rawAPI{t: t, url: c.URL}).do("POST", "/api/v1/auth/login", string(body)); (err == nil) != login.works {
			t.Errorf("log in as %s with %s: got %v, want it to work: %t", login.user, login.password, err, login.works)
		}
	}
	awaitOld(c, ada, oldEnded, "line of the ended task", 3)

	// With its old credential, and without a join token.
	c.Agents["a"] = c.Spawn("agent-a", "agent", "run", "--config-file", filepath.Join(c.Dir, "agent.yaml"),
		"--agent-id", "a", "--data-dir", filepath.Join(c.Dir, "agent-a"), "--artificial-slots", "2")
	awaitOld(c, ada, oldQueued, "the queued task ran", 4)
	c.Eventually("the lost task ends", time.Minute, func() error { return ended(ada, oldRunning) })
	if n := count(ada.logs(oldRunning), "it runs"); n != 1 {
		t.Errorf("the log of the lost task has its line %d times", n)
	}
}

// awaitOld waits until a task has ended, and checks its exit code and that it logged the line once.
func awaitOld(c *cluster, api *rawAPI, id, line string, code int) {
	c.T.Helper()
	c.Eventually("task "+id+" ends", time.Minute, func() error { return ended(api, id) })
	cmd, err := api.command(id)
	if err != nil || cmd.ExitCode == nil || *cmd.ExitCode != code {
		c.T.Errorf("task %s: got exit code %s (%s) and %v, want %d", id, str(cmd.ExitCode), cmd.ExitStatus, err, code)
	}
	if n := count(api.logs(id), line); n != 1 {
		c.T.Errorf("task %s: the log has %q %d times", id, line, n)
	}
}

func ended(api *rawAPI, id string) error {
	cmd, err := api.command(id)
	if err == nil && cmd.State != "STATE_TERMINATED" {
		err = fmt.Errorf("it is %s", cmd.State)
	}
	return err
}

func count(all []string, line string) (n int) {
	for _, l := range all {
		if l == line {
			n++
		}
	}
	return n
}

// endNow sets the end time of the ended task in a stored cluster to now. The database stores times
// as text, so the new text must have the same length.
func endNow(t *testing.T, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	then := []byte(`"ended":"2026-11-22T05:41:20.15192115Z"`)
	now := []byte(time.Now().UTC().Format(`"ended":"2006-01-02T15:04:05.00000000Z"`))
	if !bytes.Contains(data, then) || len(now) != len(then) {
		t.Fatalf("%s has no task with %s to replace by %s", file, then, now)
	}
	if err := os.WriteFile(file, bytes.ReplaceAll(data, then, now), 0o600); err != nil {
		t.Fatal(err)
	}
}

// unpackOld unpacks the directories of the old version's cluster.
func unpackOld(t *testing.T, dir string) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "upgrade", "d397a73.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	r := tar.NewReader(z)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		at := filepath.Join(dir, filepath.Clean("/"+h.Name))
		if h.FileInfo().IsDir() {
			err = os.MkdirAll(at, 0o700)
		} else {
			var data []byte
			data, err = io.ReadAll(r)
			err = errors.Join(err, os.WriteFile(at, data, h.FileInfo().Mode().Perm()))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
