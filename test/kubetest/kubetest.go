// Package kubetest starts a Kubernetes cluster for a test, or provides one that all tests of a run
// share with a namespace for each: the upstream programs, on this machine, without a registry.
// test/kube documents which parts are real. Only tests may import it.
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

// Mode selects which parts of a cluster are real.
type Mode string

// The modes.
const (
	// API has the control plane and fake nodes. Pods run immediately and do nothing; those of a Job
	// succeed. It needs neither root nor additional packages.
	API Mode = "api"
	// Node also has a real node that runs containers. It needs root and a few Debian packages.
	Node Mode = "node"
)

// Time limits, far above the five seconds to start and the second to stop on idle cores.
const (
	upLimit   = 5 * time.Minute
	downLimit = 2 * time.Minute
	// awaitLimit limits the wait for a condition in a cluster.
	awaitLimit = 60 * time.Second
)

// Options is the requested configuration of a cluster.
type Options struct {
	// Mode defaults to API.
	Mode Mode
	// FakeNodes is the number of nodes that run nothing: 0 means two in API mode and none beside a
	// real node, whose fake nodes have a taint.
	FakeNodes int
	// FakeGPUs is the number of nvidia.com/gpu that each of them reports.
	FakeGPUs int
	// GPUs is the number of GPUs of the real node, without hardware. A test with GPUs waits until
	// no other test has a real node.
	GPUs int
	// Images are archives to load on the real node.
	Images []string
	// Args are additional flags of components, each COMPONENT=--FLAG.
	Args []string
}

// Cluster is a running cluster.
type Cluster struct {
	// Kubeconfig is the path of the administrator's kubeconfig.
	Kubeconfig string
	// Bin is the directory of the programs: kubectl, and image for tests.
	Bin string
	// HostIP is the address of this machine for the pods of a real node, and NodeIP that of the
	// node for this machine, which also reaches every pod and Service.
	HostIP, NodeIP string
	Mode           Mode

	t     testing.TB
	claim *claim
}

// Start starts a cluster that is stopped at the end of the test. It skips the test with -short, and
// if something is not installed; with CI=true a missing part fails the test.
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

// cluster returns the cluster with the claimed ID, which may not be running.
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

// up starts the cluster. The error of a failed start includes the logs.
func (k *claim) up(ctx context.Context, o Options) error {
	if _, err := k.run(ctx, upLimit, o.up()...); err != nil {
		return fmt.Errorf("start Kubernetes: %w%s", err, k.logs())
	}
	return nil
}

// up returns the command that starts the cluster.
func (o Options) up() []string {
	mode, fake := o.Mode, o.FakeNodes
	if mode == "" {
		mode = API
	}
	if fake == 0 {
		fake = -1 // the default of the mode
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

// stop stops the cluster, even after ctx has ended.
func (c *Cluster) stop(ctx context.Context) error {
	_, err := c.claim.run(context.WithoutCancel(ctx), downLimit, "down")
	c.claim.release()
	return err
}

// For returns the cluster for another test, which errors are reported to: a subtest, or one of
// several tests that share it.
func (c *Cluster) For(t testing.TB) *Cluster {
	d := *c
	d.t = t
	return &d
}

// Config returns a client configuration without rate limit.
func (c *Cluster) Config() *rest.Config {
	c.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		c.t.Fatal(err)
	}
	config.QPS = -1
	return config
}

// Client returns a client with the permissions of an administrator.
func (c *Cluster) Client() kubernetes.Interface {
	c.t.Helper()
	client, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		c.t.Fatal(err)
	}
	return client
}

// Try runs kubectl and returns its output.
func (c *Cluster) Try(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.t.Context()), upLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(c.Bin, "kubectl"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Kubectl runs kubectl and returns its output. It fails the test if kubectl fails.
func (c *Cluster) Kubectl(args ...string) string {
	c.t.Helper()
	out, err := c.Try(args...)
	if err != nil {
		c.t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// Kube runs a command of kube.sh for this cluster, such as add-nodes.
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

// Await polls until yes returns nil. It fails the test with the last error after a minute.
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
