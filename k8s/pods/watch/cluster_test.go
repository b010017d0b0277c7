package watch

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/det-deploy/det-deploy/master/rm"
)

// An API server revokes both permissions and does not answer the list of the pods that are still
// visible. The visible nodes must be dropped nevertheless.
func TestLostObjectsAreDroppedBeforeListing(t *testing.T) {
	t.Parallel()
	listing := make(chan struct{}, 16)
	ctx, cancel := context.WithCancel(t.Context())
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if strings.HasPrefix(q.URL.Path, "/api/v1/namespaces/") {
			listing <- struct{}{}
			<-ctx.Done()
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`))
	}))
	t.Cleanup(s.Close)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	seen := func(all bool) *clusterWatch {
		f := informers.NewSharedInformerFactory(client, 0)
		return &clusterWatch{informer: f.Core().V1().Nodes().Informer(), factory: f, stop: func() {}, all: all}
	}
	w := &Watch{cfg: Config{
		Client: client, Namespace: "tasks", Log: slog.New(slog.DiscardHandler), OnChange: func(rm.AllocationID, bool) {}, OnError: func(error) {},
	}}
	w.nodes.Store(seen(false))
	w.others.Store(seen(true))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = w.openClusterWatches(ctx) // it is stopped below
	}()
	select {
	case <-listing:
	case <-time.After(time.Minute):
		t.Error("the pods that may be seen are not listed")
	}
	if w.nodes.Load() != nil {
		t.Error("nodes that may not be seen any more are still planned with")
	}
	cancel()
	<-ended
}
