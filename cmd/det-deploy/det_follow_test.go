package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// following returns a cluster with one task that prints a line every second.
func following(t *testing.T) (*cluster, *rawAPI, string) {
	t.Helper()
	c := newCluster(t, clusterConfig{Agent: "container_runtime: process\ntrust_users: true\nartificial_slots: 1\n"})
	c.StartMaster()
	c.StartAgent("a")
	api := &rawAPI{t: t, url: c.URL}
	var session struct{ Token string }
	if err := json.Unmarshal(api.retry("POST", "/api/v1/auth/login", `{"username":"admin","password":"`+password+`"}`), &session); err != nil {
		t.Fatal(err)
	}
	api.token = session.Token
	var launched struct{ Command struct{ ID string } }
	body := `{"config":{"entrypoint":["sh","-c","for i in $(seq 1 600); do echo line $i; sleep 1; done"],"resources":{"slots":0}}}`
	if err := json.Unmarshal(api.retry("POST", "/api/v1/commands", body), &launched); err != nil {
		t.Fatal(err)
	}
	return c, api, launched.Command.ID
}

// open sends a request and returns the response with its stream.
func (a *rawAPI) open(path string) *http.Response {
	a.t.Helper()
	req, err := http.NewRequestWithContext(a.t.Context(), http.MethodGet, a.url+path, nil)
	if err != nil {
		a.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+a.token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { _ = resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		a.t.Fatalf("GET %s: %s", path, resp.Status)
	}
	return resp
}

// A client that follows a log must be able to distinguish a stopped master from a crashed one: the
// det client fails on a truncated response.
func TestFollowedLogEndsCleanlyOnMasterStop(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a cluster; run without -short")
	}
	c, api, id := following(t)
	resp := api.open("/api/v1/tasks/" + id + "/logs?follow=true")
	r := bufio.NewReader(resp.Body)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(line, "line 2") {
			break
		}
	}
	if err := c.Master.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(r)
	if err != nil || bytes.Contains(rest, []byte(`{"error"`)) {
		t.Errorf("got %v after %q, want lines to a regular end", err, rest)
	}
	if err := c.Master.Wait(); err != nil {
		t.Errorf("the master ended with %v", err)
	}
	last := lastLine(t, rest)
	c.StartMaster()
	next := bufio.NewReader(api.open("/api/v1/tasks/" + id + "/logs?follow=true&afterId=" + last).Body)
	line, err := next.ReadString('\n')
	if err != nil || last != "" && strings.Contains(line, `"id":"`+last+`"`) {
		t.Errorf("got %q, %v, want the line behind %s", line, err, last)
	}
}

// lastLine returns the ID of the last line of a stream, or "" if it has none.
func lastLine(t *testing.T, stream []byte) (id string) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(stream))
	for dec.More() {
		var l struct{ Result struct{ ID string } }
		if err := dec.Decode(&l); err != nil {
			t.Fatal(err)
		}
		id = l.Result.ID
	}
	return id
}

func TestTheFieldsOfALogAreFollowed(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a cluster; run without -short")
	}
	_, api, id := following(t)
	dec := json.NewDecoder(api.open("/api/v1/tasks/" + id + "/logs/fields?follow=true").Body)
	var seen int
	for {
		var l struct {
			Result struct{ Sources, AgentIds, ContainerIds []string }
		}
		if err := dec.Decode(&l); err != nil {
			t.Fatalf("after %d answers: %v", seen, err)
		}
		seen++
		if slices.Contains(l.Result.Sources, "task") && slices.Contains(l.Result.AgentIds, "a") && len(l.Result.ContainerIds) == 1 {
			break
		}
	}
	api.retry("POST", "/api/v1/commands/"+id+"/kill", "")
	ended := make(chan error, 1)
	go func() {
		for {
			var l json.RawMessage
			if err := dec.Decode(&l); err != nil {
				ended <- err
				return
			}
		}
	}()
	select {
	case err := <-ended:
		if err != io.EOF { //nolint:errorlint // the decoder returns io.EOF itself
			t.Errorf("got %v, want the end of the stream", err)
		}
	case <-time.After(time.Minute):
		t.Error("the stream does not end with its task")
	}
}
