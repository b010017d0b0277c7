package logs

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/det-deploy/det-deploy/k8s/podspec"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// log is a book for concurrent readers.
type log struct {
	mu sync.Mutex // guards book
	book
}

func (l *log) AppendLogs(ctx context.Context, a rm.AgentID, lines *agentv1.Logs) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.book.AppendLogs(ctx, a, lines)
}

// node is an API server that serves the log of one pod.
type node struct {
	// final and followed handle requests without and with follow.
	final, followed http.HandlerFunc
}

func (n node) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	if q.URL.Query().Get("follow") == "true" {
		n.followed(w, q)
		return
	}
	n.final(w, q)
}

func prints(lines ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, q *http.Request) {
		since, _ := time.Parse(time.RFC3339, q.URL.Query().Get("sinceTime"))
		for i, line := range lines {
			if at := time.Date(2026, 11, 21, 10, 0, i, 0, time.UTC); !at.Before(since) {
				fmt.Fprintf(w, "%s %s\n", at.Format(time.RFC3339Nano), line)
			}
		}
		http.NewResponseController(w).Flush() //nolint:errcheck // the reader may close the connection
	}
}

// hangs returns a handler that blocks until its reader disconnects.
func hangs(first http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, q *http.Request) {
		first(w, q)
		<-q.Context().Done()
	}
}

func nothing(http.ResponseWriter, *http.Request) {}

func missing(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusNotFound)
	fmt.Fprint(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}`)
}

func TestLogEndsWithContainer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		node node
		end  func(*Follower)
		want []string
	}{
		"the node ends the stream": {
			node: node{followed: prints("one", "two"), final: prints("one", "two", "three")},
			end:  (*Follower).ContainerEnded, want: []string{"one", "two", "three"},
		},
		"the node never ends the stream": {
			node: node{followed: hangs(prints("one", "two")), final: prints("one", "two", "three")},
			end:  (*Follower).ContainerEnded, want: []string{"one", "two", "three"},
		},
		"the node ends no stream at all": {
			node: node{followed: hangs(prints("one")), final: hangs(prints("one", "two"))},
			end:  (*Follower).ContainerEnded, want: []string{"one", "two", "MISSING"},
		},
		"the node answers nothing any more": {
			node: node{followed: hangs(prints("one")), final: hangs(nothing)},
			end:  (*Follower).ContainerEnded, want: []string{"one", "MISSING"},
		},
		"the pod is gone and the stream stays open": {
			node: node{followed: hangs(prints("one")), final: missing},
			end:  (*Follower).PodGone, want: []string{"one", "MISSING"},
		},
		"the pod is gone behind the end of the stream": {
			node: node{followed: prints("one"), final: missing},
			end:  (*Follower).PodGone, want: []string{"one"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := &log{}
			l := readFrom(t, store, c.node)
			var run sync.WaitGroup
			run.Go(func() { l.Follow(t.Context()) })
			awaitLines(t, store, 1)
			began := time.Now()
			c.end(l)
			run.Wait()
			if took := time.Since(began); took > 10*time.Second || !l.Complete() {
				t.Errorf("got whole %t after %s, want so within seconds", l.Complete(), took)
			}
			if d := cmp.Diff(said(store), c.want); d != "" {
				t.Errorf("got -, want +:\n%s", d)
			}
		})
	}
}

func TestLastLinesOfInitContainer(t *testing.T) {
	t.Parallel()
	tries := 0
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   []string
	}{
		"it said why": {answer: prints("no such task"), want: []string{"2026-11-21T10:00:00Z no such task"}},
		"the node answers at the second try": {
			answer: func(w http.ResponseWriter, q *http.Request) {
				if tries++; tries == 1 {
					http.Error(w, "no route to the node", http.StatusInternalServerError)
					return
				}
				prints("no such task")(w, q)
			},
			want: []string{"2026-11-21T10:00:00Z no such task"},
		},
		"the node does not answer": {answer: hangs(nothing), want: []string{"UNKNOWN"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := &log{}
			l := readFrom(t, store, node{final: c.answer})
			l.StoreInitTail(t.Context(), podspec.InitContainer)
			if d := cmp.Diff(said(store), c.want); d != "" || !l.Complete() {
				t.Errorf("whole %t; got -, want +:\n%s", l.Complete(), d)
			}
		})
	}
}

func readFrom(t *testing.T, store rm.Logs, n node) *Follower {
	t.Helper()
	s := httptest.NewServer(n)
	t.Cleanup(s.Close)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	l := reader(store)
	l.cfg.Pods = client.CoreV1().Pods("default")
	return l
}

func awaitLines(t *testing.T, store *log, n int) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(10 * time.Second); ; <-tick.C {
		if got := said(store); len(got) >= n {
			return
		} else if time.Now().After(deadline) {
			t.Fatalf("got %q, want %d lines", got, n)
		}
	}
}

// said returns the stored lines, with our own messages abbreviated.
func said(store *log) []string {
	store.mu.Lock()
	defer store.mu.Unlock()
	var out []string
	for _, line := range store.lines {
		switch {
		case strings.Contains(line, "the end of this log is missing"):
			line = "MISSING"
		case strings.Contains(line, "is not known"):
			line = "UNKNOWN"
		}
		out = append(out, line)
	}
	return out
}
