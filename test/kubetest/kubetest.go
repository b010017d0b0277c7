// Package kubetest gives a test a Kubernetes cluster of its own, or one that all
// tests of a run share with a namespace each: upstream's programs, on this
// machine, with no registry. test/kube says what of it is real. Only tests may
// import it.
package kubetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Mode says how much of a cluster is real.
type Mode string

// The modes.
const (
	// API is the control plane and fake nodes. Pods run at once and do nothing;
	// those of a Job succeed. It needs neither root nor a package.
	API Mode = "api"
	// Node is also a real node, whose containers run. It needs root and a few
	// Debian packages.
	Node Mode = "node"
)

// The limits, far above the five seconds and the one that starting and stopping
// take on idle cores.
const (
	upLimit   = 5 * time.Minute
	downLimit = 2 * time.Minute
	// awaitLimit is how long anything in a cluster may take to come true.
	awaitLimit = 60 * time.Second
)

// Options are what a cluster is asked to be.
type Options struct {
	// Mode is API when it is empty.
	Mode Mode
	// FakeNodes is how many nodes there are that run nothing: 0 is two in API
	// mode and none beside a real node, whose fake nodes carry a taint.
	FakeNodes int
	// FakeGPUs is what each of them says it has of nvidia.com/gpu.
	FakeGPUs int
	// GPUs is what the real node has; nothing is behind them. No other real node
	// of a test is up meanwhile: they wait for each other.
	GPUs int
	// Images are archives to load on the real node.
	Images []string
	// Args are further flags of components, each COMPONENT=--FLAG.
	Args []string
}

// Cluster is a running cluster.
type Cluster struct {
	// Kubeconfig is the file of an administrator.
	Kubeconfig string
	// Bin is where the programs are: kubectl, and images for tests.
	Bin string
	// HostIP is this machine to the pods of a real node, and NodeIP that node to
	// this machine, which also reaches every pod and Service of it.
	HostIP, NodeIP string
	Mode           Mode

	t     testing.TB
	claim *claim
}

// Start starts a cluster that ends with the test. It is skipped with -short;
// where something is missing the test is skipped, or fails under CI=true.
func Start(t testing.TB, o Options) *Cluster {
	t.Helper()
	need(t, o)
	c, err := start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
	c.t = t
	t.Cleanup(func() { c.dump("") })
	return c
}

func start(ctx context.Context, o Options) (*Cluster, error) {
	script, err := script()
	if err != nil {
		return nil, err
	}
	k, err := claimOne(ctx, script, o)
	if err != nil {
		return nil, err
	}
	c, err := k.cluster(ctx, o.Mode)
	if err == nil {
		err = k.up(ctx, o)
	}
	if err != nil {
		_, downErr := k.run(context.WithoutCancel(ctx), downLimit, "down")
		k.release()
		return nil, errors.Join(err, downErr)
	}
	return c, nil
}

// cluster is that of the number, which may not have been started.
func (k *claim) cluster(ctx context.Context, mode Mode) (*Cluster, error) {
	c := &Cluster{
		Kubeconfig: filepath.Join(k.state(), "kubeconfig"), Mode: cmp.Or(mode, API), claim: k,
		HostIP: fmt.Sprintf("198.18.%d.1", k.id), NodeIP: fmt.Sprintf("198.18.%d.2", k.id),
	}
	bin, err := k.run(ctx, upLimit, "built")
	if err != nil {
		return nil, fmt.Errorf("find the programs: %w", err)
	}
	c.Bin = strings.TrimSpace(bin)
	return c, nil
}

// up starts it.
func (k *claim) up(ctx context.Context, o Options) error {
	if _, err := k.run(ctx, upLimit, o.up()...); err != nil {
		return fmt.Errorf("start Kubernetes: %w%s", err, k.logs())
	}
	return nil
}

// up is the command that starts it.
func (o Options) up() []string {
	mode, fake := o.Mode, o.FakeNodes
	if mode == "" {
		mode = API
	}
	if fake == 0 {
		fake = -1 // what the mode has when nobody says
	}
	args := []string{
		"up", "--mode", string(mode), fmt.Sprintf("--fake-nodes=%d", fake),
		fmt.Sprintf("--fake-gpus=%d", o.FakeGPUs), fmt.Sprintf("--gpus=%d", o.GPUs),
	}
	for _, i := range o.Images {
		args = append(args, "--image", i)
	}
	for _, a := range o.Args {
		args = append(args, "--arg", a)
	}
	return args
}

// stop ends the cluster, after the test's own context has.
func (c *Cluster) stop(ctx context.Context) error {
	_, err := c.claim.run(context.WithoutCancel(ctx), downLimit, "down")
	c.claim.release()
	return err
}

// For is the same cluster for another test: a subtest, or one of those that
// share it. That test is told what goes wrong.
func (c *Cluster) For(t testing.TB) *Cluster {
	d := *c
	d.t = t
	return &d
}

// Config is how client-go reaches it, as often as it likes.
func (c *Cluster) Config() *rest.Config {
	c.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		c.t.Fatal(err)
	}
	config.QPS = -1
	return config
}

// Client is a client of an administrator.
func (c *Cluster) Client() kubernetes.Interface {
	c.t.Helper()
	client, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		c.t.Fatal(err)
	}
	return client
}

// Try runs kubectl and returns what it wrote.
func (c *Cluster) Try(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.t.Context()), upLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(c.Bin, "kubectl"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Kubectl runs kubectl, which must succeed, and returns what it wrote.
func (c *Cluster) Kubectl(args ...string) string {
	c.t.Helper()
	out, err := c.Try(args...)
	if err != nil {
		c.t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// Kube runs a command of kube.sh on this cluster, such as add-nodes.
func (c *Cluster) Kube(args ...string) string {
	c.t.Helper()
	out, err := c.claim.run(c.t.Context(), upLimit, args...)
	if err != nil {
		c.t.Fatal(err)
	}
	return out
}

// LoadImage loads image archives on the real node.
func (c *Cluster) LoadImage(archives ...string) {
	c.t.Helper()
	c.Kube(append([]string{"load-image"}, archives...)...)
}

// Await polls until yes reports nothing more to complain about, and fails the
// test with the last complaint after a minute.
func (c *Cluster) Await(what string, yes func() error) {
	c.t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(awaitLimit); ; <-tick.C {
		err := yes()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			c.t.Fatalf("%s does not come true: %v", what, err)
		}
	}
}
