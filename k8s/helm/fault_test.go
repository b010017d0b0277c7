package helm_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
	"github.com/det-deploy/det-deploy/test/kubefault"
	"github.com/det-deploy/det-deploy/test/rest"
)

// deed is one command, the state before it, and the check after it was interrupted and repeated.
type deed struct {
	name  string
	begin func(t *testing.T, b bench, release string)
	do    func(ctx context.Context, b bench, release string) error
	after func(t *testing.T, b bench, release string)
	// brief leaves out the faults that another deed covers.
	brief bool
}

func deeds() []deed {
	big := map[string]any{"extra": true, "replicas": 2}
	install := func(values map[string]any) func(context.Context, bench, string) error {
		return func(ctx context.Context, b bench, release string) error {
			_, err := b.helm.Install(ctx, named(release, values))
			return err
		}
	}
	upgrade := func(values map[string]any) func(context.Context, bench, string) error {
		return func(ctx context.Context, b bench, release string) error {
			_, err := b.helm.Upgrade(ctx, named(release, values))
			return err
		}
	}
	begun := func(values map[string]any) func(*testing.T, bench, string) {
		return func(t *testing.T, b bench, release string) {
			t.Helper()
			if err := install(values)(t.Context(), b, release); err != nil {
				t.Fatal(err)
			}
		}
	}
	as := func(values map[string]any) func(*testing.T, bench, string) {
		return func(t *testing.T, b bench, release string) {
			t.Helper()
			b.in(t, named(release, values))
		}
	}
	return []deed{
		{"install", func(*testing.T, bench, string) {}, install(big), as(big), false},
		{"upgrade", begun(nil), upgrade(big), as(big), false},
		{"upgrade to less", begun(big), upgrade(nil), as(nil), true},
		{"uninstall", begun(big), func(ctx context.Context, b bench, release string) error {
			_, err := b.helm.Uninstall(ctx, release)
			return err
		}, func(*testing.T, bench, string) {}, false},
	}
}

// sampler returns a function that selects every nth case of a matrix, or all with `make faults`.
func sampler(after, n int) func() bool {
	stride := faults.Stride(n)
	return func() bool {
		after++
		return after%stride == 0
	}
}

// After a failure of any call, the repeated command succeeds, and uninstall leaves only what must
// be kept.
func TestEveryCommandFinishesAfterAFailureAtEveryCall(t *testing.T) {
	t.Parallel()
	for i, d := range deeds() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			sample := sampler(i, rest.Choose(6, 2))
			b := newBench(t)
			d.begin(t, b, "sound")
			b.Mend()
			if err := d.do(t.Context(), b, "sound"); err != nil {
				t.Fatal(err)
			}
			calls, changing := b.Calls(false), len(b.Calls(true))
			t.Logf("%d calls, of which %d change something", len(calls), changing)
			for n := 1; n <= changing; n++ {
				if sample() {
					b.broken(t, d, kubefault.Lost, n, false)
				}
				if !d.brief && sample() {
					b.broken(t, d, kubefault.Refused, n, false)
				}
			}
			if d.brief {
				return
			}
			for n, call := range calls {
				// Between two reads nothing changes.
				if (n == 0 || changes(call) || changes(calls[n-1])) && sample() {
					b.broken(t, d, kubefault.Cut, n+1, true)
				}
			}
		})
	}
}

// broken runs a command with a fault at call n, and repeats it.
func (b bench) broken(t *testing.T, d deed, f kubefault.Fault, n int, cancelled bool) {
	t.Helper()
	release := fmt.Sprintf("%s-%d", strings.ReplaceAll(string(f), " ", "-"), n)
	b.Mend()
	d.begin(t, b, release)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stop := func() {}
	if cancelled {
		stop = cancel
	}
	b.Break(f, n, stop)
	first := d.do(ctx, b, release)
	if !b.Mend() {
		return // this time it needed fewer calls
	}
	if err := d.do(t.Context(), b, release); err != nil {
		t.Errorf("%s at call %d (%v): the second run: %v", f, n, first, err)
		return
	}
	d.after(t, b, release)
	if _, err := b.helm.Uninstall(t.Context(), release); err != nil {
		t.Errorf("%s at call %d: uninstall: %v", f, n, err)
		return
	}
	want := "persistentvolumeclaim/data-" + release
	if got := b.leftBesides(t, release, want); got != want && got != "" {
		t.Errorf("%s at call %d: got %q left, want %q", f, n, got, want)
	}
}

// An interrupted upgrade can be rolled back completely.
func TestBrokenUpgradeIsRolledBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const calls = 12                        // more than the changing calls of an upgrade
	sample := sampler(2, rest.Choose(6, 2)) // with the fourth, which changes the Deployment
	for n := 1; n <= calls; n++ {
		if !sample() {
			continue
		}
		release := fmt.Sprintf("back-%d", n)
		if _, err := b.helm.Install(t.Context(), named(release, nil)); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		b.Break(kubefault.Lost, n, nil)
		_, first := b.helm.Upgrade(ctx, named(release, map[string]any{"extra": true, "replicas": 2}))
		cancel()
		if !b.Mend() {
			return
		}
		if _, err := b.helm.Upgrade(t.Context(), named(release, nil)); err != nil {
			t.Errorf("broken at call %d (%v): %v", n, first, err)
			continue
		}
		b.in(t, named(release, nil))
		if got := b.left(t, release); strings.Contains(got, "extra") {
			t.Errorf("broken at call %d (%v): got %s", n, first, got)
		}
		if got := b.containers(t, release); strings.Contains(got, "EXTRA") {
			t.Errorf("broken at call %d (%v): got the containers %s", n, first, got)
		}
	}
}

func changes(call string) bool { return !strings.HasPrefix(call, "GET ") }

// containers returns the containers of a release as text.
func (b bench) containers(t *testing.T, release string) string {
	t.Helper()
	o, err := b.objects.Resource(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}).Namespace(b.namespace).
		Get(t.Context(), "app-"+release, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	all, _, err := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(all...)
}
