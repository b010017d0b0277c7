// Package into_test enters tasks of a live cluster in hostile ways, and while its parts are killed.
package into_test

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/test/clustertest"
	"github.com/det-deploy/det-deploy/test/port"
)

func TestMain(m *testing.M) { os.Exit(clustertest.Tests{M: m}.Run()) } //nolint:forbidigo // it is the main of the tests

// patience limits the wait for events that take seconds on an idle machine.
const patience = 2 * time.Minute

// world is a live cluster with one agent, whose tasks are processes.
type world struct {
	*clustertest.Cluster

	token string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	if os.Getuid() != 0 && os.Getenv("CI") != "true" {
		t.Skip("agents keep tasks apart as root only; run the tests as root")
	}
	w := &world{Cluster: clustertest.New(t, clustertest.Config{Agent: "container_runtime: process\ntrust_users: true\n"})}
	w.begin()
	return w
}

// begin starts the cluster.
func (w *world) begin() {
	w.T.Helper()
	w.StartMaster()
	w.StartAgent("a", "--artificial-slots", "1")
	w.Login()
	w.token = w.login("admin", clustertest.Password)
}

func (w *world) login(name, password string) string {
	w.T.Helper()
	var reply struct{ Token string }
	said := w.post("auth/login", fmt.Sprintf(`{"username": %q, "password": %q}`, name, password))
	if err := json.Unmarshal(said, &reply); err != nil {
		w.T.Fatal(err)
	}
	return reply.Token
}

// post sends a call that must succeed.
func (w *world) post(path, body string) []byte {
	w.T.Helper()
	r, err := http.NewRequestWithContext(w.T.Context(), http.MethodPost, w.URL+"/api/v1/"+path, strings.NewReader(body))
	if err != nil {
		w.T.Fatal(err)
	}
	if w.token != "" {
		r.Header.Set("Authorization", "Bearer "+w.token)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		w.T.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	said, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		w.T.Fatalf("%s: %d %s, %v", path, res.StatusCode, said, err)
	}
	return said
}

//go:embed testdata/service.py
var serviceScript string

//go:embed testdata/hostile.html
var hostilePage string

// service is a task with a program that listens.
type service struct {
	task string
	port int
}

// path returns a path of the service.
func (s service) path(rest string) string { return "/proxy/" + s.task + "/" + rest }

// serve runs the service of testdata as a task.
func (w *world) serve(tcp bool) service {
	w.T.Helper()
	s := service{port: port.Free(w.T)}
	name := fmt.Sprintf("service-%d.yaml", s.port)
	w.Write(name, fmt.Sprintf("resources: {slots: 0}\nenvironment: {proxy_ports: [{proxy_port: %d, proxy_tcp: %t}]}\n", s.port, tcp))
	s.task = strings.TrimSpace(w.Run("task", "run", "--detach", "--config", filepath.Join(w.Dir, name), "--", "python3", "-c", serviceScript, strconv.Itoa(s.port), hostilePage))
	w.awaitLine(s.task, "listening")
	return s
}

func (w *world) awaitLine(task, want string) {
	w.T.Helper()
	w.Eventually("the task says "+want, patience, func() error {
		if log := w.Run("task", "logs", task); !strings.Contains(log, want) {
			return errors.New(log)
		}
		return nil
	})
}

// dial connects to the master.
func (w *world) dial() net.Conn {
	w.T.Helper()
	conn, err := (&net.Dialer{}).DialContext(w.T.Context(), "tcp", strings.TrimPrefix(w.URL, "http://"))
	if err != nil {
		w.T.Fatal(err)
	}
	w.T.Cleanup(func() { _ = conn.Close() })
	return conn
}

// raw sends bytes to the master with LF for CR LF, and returns everything that it answers.
func (w *world) raw(request string) string {
	w.T.Helper()
	conn := w.dial()
	if _, err := io.WriteString(conn, strings.ReplaceAll(request, "\n", "\r\n")); err != nil {
		w.T.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	said, _ := io.ReadAll(bufio.NewReader(conn)) // a reset is an answer
	return string(said)
}

// headers are those of every request of the administrator.
func (w *world) headers() string {
	return "Host: det\nAuthorization: Bearer " + w.token + "\n"
}

// upgrade are the headers of a request for a websocket.
var upgrade = []string{"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="}

// get returns the status of a request, and the beginning of its body. headers are names and values.
func (w *world) get(ctx context.Context, path string, headers ...string) (int, string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.URL+path, nil)
	if err != nil {
		return 0, "", err
	}
	r.Header.Set("Authorization", "Bearer "+w.token)
	for h := range slices.Chunk(headers, 2) {
		r.Header.Set(h[0], h[1])
	}
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(io.LimitReader(res.Body, 1<<10))
	return res.StatusCode, string(b), err
}

// answers fails the test unless a service answers.
func (w *world) answers(s service, when string) {
	w.T.Helper()
	w.Eventually("the service answers "+when, patience, func() error {
		code, said, err := w.get(w.T.Context(), s.path(""))
		if err == nil && (code != http.StatusOK || said != "hello") {
			err = fmt.Errorf("%d %s", code, said)
		}
		return err
	})
}

// descriptors returns the number of open files of a process.
func descriptors(t *testing.T, pid int) int {
	t.Helper()
	list, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "fd"))
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// holdsNothing waits until master and agent have no more open files than before.
func (w *world) holdsNothing(before [2]int) {
	w.T.Helper()
	w.Eventually("no descriptors are left", patience, func() error {
		if now := w.open(); now[0] > before[0]+fewMore || now[1] > before[1]+fewMore {
			return fmt.Errorf("master and agent have %v open files, before %v", now, before)
		}
		return nil
	})
}

// fewMore is how many files a process may open for other reasons.
const fewMore = 12

// open returns the numbers of open files of the master and the agent.
func (w *world) open() [2]int {
	return [2]int{descriptors(w.T, w.Master.Process.Pid), descriptors(w.T, w.Agents["a"].Process.Pid)}
}
