package pods_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/det-deploy/det-deploy/k8s/pods"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/test/kubetest"
	"github.com/det-deploy/det-deploy/test/rest"
)

// counter counts the requests of a master to the API server.
type counter struct {
	mu  sync.Mutex // guards the fields below
	all map[string]int
}

func (c *counter) add(r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kind := "other"
	for _, k := range []string{"pods", "jobs", "secrets", "events", "nodes"} {
		if strings.Contains(r.URL.Path, "/"+k) {
			kind = k
		}
	}
	c.all[r.Method+" "+kind]++
}

// reset clears the counter and returns the counts.
func (c *counter) reset() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.all
	c.all = make(map[string]int)
	return was
}

// client returns a counting client without rate limit.
func (c *counter) client(t *testing.T, of *kubetest.Cluster) kubernetes.Interface {
	t.Helper()
	cfg := of.Config()
	cfg.QPS, cfg.Burst = 500, 1000
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return tripper(func(r *http.Request) (*http.Response, error) { c.add(r); return next.RoundTrip(r) })
	})
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Each pod of a gang is checked whenever another one is deleted; it must not be deleted again each
// time.
func TestAPodIsDeletedOnceAndForcedOnce(t *testing.T) {
	size := rest.Choose(32, 100) // pods of the gang
	requests := &counter{all: make(map[string]int)}
	m := newMaster(t, func(c *pods.Config) {
		c.Pools[0].Template.MaxSlotsPerPod, c.Limits.Lost = 1, 20*time.Second // enough for a busy machine
		c.Gang.Limit = 30 * time.Second                                       // a node starts its pods one by one
	})
	m.stop()
	m.client = requests.client(t, m.c)
	m.newKubelets(size/8 + 1)
	m.start()
	for _, tt := range []struct {
		name string
		program
		most int
	}{
		// Deleted gracefully first. On a busy machine whose nodes answer late, each pod may be
		// force-deleted as well, once for each Limits.Lost; with the race detector that is twice.
		{"nodes that answer", program{Forever: true}, 3 * size},
		// Force-deleted when the node has not answered in time. Their Job holds each pod until it is
		// gone.
		{"nodes that do not", program{Forever: true, Deaf: true}, 3 * size},
	} {
		t.Run(tt.name, func(t *testing.T) {
			id := m.submit(tt.program, func(q *rm.Request) {
				q.Slots, q.PodSpec = size, []byte(`{"spec": {"terminationGracePeriodSeconds": 1}}`)
			})
			m.await(id, "all its pods run", runs(size))
			requests.reset()
			if err := m.rm.Kill(t.Context(), id, "the test ends it"); err != nil {
				t.Fatal(err)
			}
			m.await(id, "it has ended", over)
			m.awaitNothing()
			got := requests.reset()
			t.Log(got)
			if got["DELETE pods"] > tt.most {
				t.Errorf("got %d requests that delete pods, want no more than %d for %d pods", got["DELETE pods"], tt.most, size)
			}
		})
	}
}
