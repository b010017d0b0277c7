package kubetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// runVariable contains the ID of the cluster that test/run.sh keeps for all packages of a run. Only
// that script sets it.
const runVariable = "KUBETEST_RUN"

// Shared is one cluster for all packages of a run of test/run.sh, or for all tests of a package
// that is tested alone:
//
//	var cluster = kubetest.Share()
//
//	func TestMain(m *testing.M) { cluster.Main(m) }
//
//	func TestSomething(t *testing.T) {
//		c, namespace := cluster.Namespace(t)
//
// It is started by the first test that needs it. It has four fake nodes of eight GPUs, which may
// also have pods of other packages: a test that counts, fills or changes nodes adds nodes with its
// own label and taint.
type Shared struct {
	once  func() (*Cluster, error)
	names names
	// lasts means that the cluster outlives this process.
	lasts   bool
	started atomic.Bool
}

// sharedOptions returns the options of the shared cluster. It checks owner references like
// OpenShift.
func sharedOptions() Options {
	return Options{
		FakeNodes: 4, FakeGPUs: 8,
		Args: []string{"kube-apiserver=--enable-admission-plugins=OwnerReferencesPermissionEnforcement"},
	}
}

// Share prepares a cluster without starting it.
func Share() *Shared {
	s := &Shared{lasts: os.Getenv(runVariable) != ""}
	s.once = sync.OnceValues(func() (*Cluster, error) {
		s.started.Store(true)
		return startShared(context.Background()) //nolint:forbidigo // no test of the package owns it
	})
	return s
}

// startShared starts the cluster of the run, unless another package has started it, or a separate
// cluster for this package.
func startShared(ctx context.Context) (*Cluster, error) {
	id := os.Getenv(runVariable)
	if id == "" {
		return start(ctx, sharedOptions())
	}
	script, err := script()
	if err != nil {
		return nil, err
	}
	k := &claim{dir: claimsDir(), script: script}
	if k.id, err = strconv.Atoi(id); err != nil {
		return nil, fmt.Errorf("%s: %w", runVariable, err)
	}
	if err := k.await(ctx, id+"-up", syscall.LOCK_EX); err != nil {
		return nil, err
	}
	defer k.release()
	c, err := k.cluster(ctx, API)
	if err != nil {
		return nil, err
	}
	// "up" replaces a cluster that does not answer immediately, as on a busy machine. The mark is
	// removed with the cluster.
	mark := filepath.Join(k.state(), "started")
	if _, err := os.Stat(mark); err == nil {
		return c, nil
	}
	if err := k.up(ctx, sharedOptions()); err != nil {
		return nil, err
	}
	return c, os.WriteFile(mark, nil, 0o600)
}

// Main runs the tests and stops a cluster that is separate for this package. TestMain calls it.
func (s *Shared) Main(m *testing.M) {
	code := m.Run()
	if err := s.end(); err != nil {
		fmt.Fprintln(os.Stderr, "take the shared cluster down:", err)
		code = max(code, 1)
	}
	os.Exit(code) //nolint:forbidigo // a test binary's main ends so
}

func (s *Shared) end() error {
	if !s.started.Load() || s.lasts {
		return nil
	}
	c, err := s.once()
	if err != nil {
		return nil //nolint:nilerr // the waiting tests report the error
	}
	return c.stop(context.Background()) //nolint:forbidigo // all tests have ended
}

// Start returns the cluster for one test, which is skipped or fails as with the function Start. The
// test must remove its objects outside of its namespace.
func (s *Shared) Start(t testing.TB) *Cluster {
	t.Helper()
	need(t, Options{})
	c, err := s.once()
	if err != nil {
		t.Fatal(err)
	}
	return c.For(t)
}

// Namespace returns the cluster and a namespace for one test. The namespace is deleted at the end
// of the test; if the test failed, its objects are printed before.
func (s *Shared) Namespace(t testing.TB) (*Cluster, string) {
	t.Helper()
	c := s.Start(t)
	return c, c.Namespace(s.names.next())
}

// names returns names of namespaces that no other process uses.
type names struct {
	mu sync.Mutex // guards the fields below
	// prefix has the directory of the package, for readers, and a random number for this process.
	prefix string
	count  int
}

func (n *names) next() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.prefix == "" {
		dir, err := os.Getwd()
		if err != nil {
			dir = "test"
		}
		n.prefix = fmt.Sprintf("%s-%05d", filepath.Base(dir), rand.IntN(100_000)) //nolint:gosec // not secret
	}
	n.count++
	return fmt.Sprintf("%s-%d", n.prefix, n.count)
}

// Namespace creates a namespace that is deleted at the end of the test. It calls the API directly,
// because a kubectl process costs more than the request.
func (c *Cluster) Namespace(name string) string {
	c.t.Helper()
	all := c.Client().CoreV1().Namespaces()
	made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := all.Create(c.t.Context(), made, metav1.CreateOptions{}); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.t.Context()), awaitLimit)
		defer cancel()
		if err := all.Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			c.t.Errorf("delete namespace %s: %v", name, err)
		}
	})
	c.t.Cleanup(func() { c.dump(name) })
	return name
}
