package pods

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

func TestSilentAPIServerIsTolerated(t *testing.T) {
	t.Parallel()
	r, _ := still(t, shelf{})
	var down error
	r.cfg.Client.(*fake.Clientset).PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return down != nil, nil, down
	})
	at := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	for _, step := range []struct {
		after time.Duration
		down  error
		ready bool
		name  string
	}{
		{0, errors.New("refused"), false, "it never answered"},
		{time.Second, nil, true, "it answers"},
		{apiSilence, errors.New("refused"), true, "it is silent for less than the time"},
		{time.Second, errors.New("refused"), false, "it is silent for the time"},
		{time.Second, nil, true, "it is back"},
	} {
		at, down = at.Add(step.after), step.down
		if step.name == "it is silent for less than the time" {
			at = at.Add(-time.Second)
		}
		if err := r.api.checkAPI(t.Context(), at); (err == nil) != step.ready {
			t.Errorf("%s: got %v", step.name, err)
		}
	}
}

func TestReadinessListsNoPods(t *testing.T) {
	t.Parallel()
	r, _ := still(t, shelf{})
	if err := r.api.checkAPI(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	asked := r.cfg.Client.(*fake.Clientset).Actions()
	if len(asked) != 1 || asked[0].(clienttesting.ListAction).GetListRestrictions().Fields.String() != noPod {
		t.Errorf("got %v, want one list of the pods that have the name of none", asked)
	}
}

func TestReadyNeedsWatchesAndAPass(t *testing.T) {
	t.Parallel()
	r, w := still(t, shelf{})
	r.state.watch, r.state.unknown = nil, "pods is forbidden"
	if err := r.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "pods is forbidden") {
		t.Errorf("without watches: got %v", err)
	}
	r.state.watch = w
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Ready(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("without a pass: got %v, want the end of the context", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.state.passes.Run(ctx, r.scheduler.decideQueues) }()
	if err := r.Ready(t.Context()); err != nil {
		t.Errorf("with passes: got %v", err)
	}
	stop()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that the passes end with their context", err)
	}
}
