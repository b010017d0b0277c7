package kubetest

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

// Shared is one cluster for all tests of a package:
//
//	var cluster = kubetest.Share(kubetest.Options{})
//
//	func TestMain(m *testing.M) { cluster.Main(m) }
//
//	func TestSomething(t *testing.T) {
//		c, namespace := cluster.Namespace(t)
//
// It starts when the first test asks, so that a run that needs none has none.
type Shared struct {
	options Options
	once    func() (*Cluster, error)
	started atomic.Bool
	spaces  atomic.Int64
}

// Share prepares a cluster and starts nothing.
func Share(o Options) *Shared {
	s := &Shared{options: o}
	s.once = sync.OnceValues(func() (*Cluster, error) {
		s.started.Store(true)
		return start(context.Background(), s.options) //nolint:forbidigo // no test of the package owns it
	})
	return s
}

// Main runs the tests and takes the cluster down; it is what TestMain does.
func (s *Shared) Main(m *testing.M) {
	code := m.Run()
	if s.started.Load() {
		if err := s.end(); err != nil {
			fmt.Fprintln(os.Stderr, "take the shared cluster down:", err)
			code = max(code, 1)
		}
	}
	os.Exit(code) //nolint:forbidigo // a test binary's main ends so
}

func (s *Shared) end() error {
	c, err := s.once()
	if err != nil {
		return nil //nolint:nilerr // the tests that asked were told
	}
	return c.stop(context.Background()) //nolint:forbidigo // all tests have ended
}

// Start is the cluster for one test, which is skipped or fails as with the
// function Start. What it makes outside a namespace of its own it removes.
func (s *Shared) Start(t testing.TB) *Cluster {
	t.Helper()
	need(t, s.options)
	c, err := s.once()
	if err != nil {
		t.Fatal(err)
	}
	return c.For(t)
}

// Namespace is the cluster, and a namespace for one test. It is deleted at the
// test's end; what was in it is shown before when the test failed.
func (s *Shared) Namespace(t testing.TB) (*Cluster, string) {
	t.Helper()
	c := s.Start(t)
	return c, c.Namespace("test-" + strconv.FormatInt(s.spaces.Add(1), 10))
}

// Namespace makes a namespace that ends with the test.
func (c *Cluster) Namespace(name string) string {
	c.t.Helper()
	c.Kubectl("create", "namespace", name)
	c.t.Cleanup(func() {
		if out, err := c.Try("delete", "namespace", name, "--wait=false", "--ignore-not-found"); err != nil {
			c.t.Errorf("delete namespace %s: %v\n%s", name, err, out)
		}
	})
	c.t.Cleanup(func() { c.dump(name) })
	return name
}
