package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
)

// Time limits of the start, far above the four seconds that it takes on two idle cores.
const (
	apiLimit     = 3 * time.Minute
	clusterLimit = 2 * time.Minute
)

// Up starts the cluster and returns when all nodes are ready and pods can be created. It does
// nothing if such a cluster is running, and replaces a broken one or one with other options. It
// calls tell with each step.
func (l *Lab) Up(ctx context.Context, o Options, tell func(string)) error {
	if err := o.complete(); err != nil {
		return err
	}
	if done, err := l.already(ctx, o); done || err != nil {
		return err
	}
	s, err := l.prepare(ctx, o)
	if err != nil {
		return err
	}
	tell("files, certificates and network are ready")
	if err := l.startAPI(ctx, s, tell); err != nil {
		return fmt.Errorf("%w; the logs stay in %s until the next up or down", err, l.path("logs"))
	}
	if err := l.populate(ctx, s); err != nil {
		return fmt.Errorf("%w; the logs stay in %s until the next up or down", err, l.path("logs"))
	}
	return nil
}

// already reports whether a cluster that satisfies o is running. It removes any other.
func (l *Lab) already(ctx context.Context, o Options) (bool, error) {
	old, err := l.load()
	if errors.Is(err, errNone) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !old.serves(o) || l.healthy(ctx, old) != nil {
		return false, l.Down(ctx)
	}
	if !old.real() {
		return true, nil
	}
	for _, image := range o.Images {
		if err := l.LoadImage(image); err != nil {
			return true, err
		}
	}
	return true, nil
}

// prepare creates everything that needs no running program.
func (l *Lab) prepare(ctx context.Context, o Options) (state, error) {
	for _, a := range o.Args {
		name, flag, _ := strings.Cut(a, "=")
		l.extra[name] = append(l.extra[name], flag)
	}
	for _, dir := range []string{"pki", "logs", "pids", "volumes", "cni", "kubelet", "etcd", "certs"} {
		if err := os.MkdirAll(l.path(dir), 0o755); err != nil {
			return state{}, err
		}
	}
	s, err := l.place(ctx, o)
	if err != nil {
		return s, err
	}
	// Down can remove the cluster from here on.
	if err := l.save(s); err != nil {
		return s, err
	}
	if err := l.makePKI(s); err != nil {
		return s, err
	}
	if !s.real() {
		return s, l.write("egress.yaml", l.path("egress.yaml"))
	}
	return s, errors.Join(l.makeNetwork(), l.makeGroups(), l.writeNodeFiles())
}

// place chooses the addresses of a new cluster's components.
func (l *Lab) place(ctx context.Context, o Options) (state, error) {
	s := state{Options: o, ServerIP: "127.0.0.1", Started: time.Now().UTC()}
	if !s.real() {
		var err error
		s.Ports, err = freePorts(ctx)
		return s, err
	}
	s.ServerIP, s.Ports, s.Sysctls = l.nodeIP, nodePorts(), readSysctls()
	_, err := os.Stat("/var/lib/kubelet")
	s.MadeKubeletDir = errors.Is(err, fs.ErrNotExist)
	return s, nil
}

// startAPI starts the API server concurrently with the components that do not need it.
func (l *Lab) startAPI(ctx context.Context, s state, tell func(string)) error {
	first := []component{l.etcd(s), l.apiserver(s)}
	if !s.real() {
		first = append([]component{{name: "egress", argv: []string{l.program("kubelab"), "egress"}}}, first...)
	}
	for _, c := range first {
		if err := l.start(c); err != nil {
			return err
		}
	}
	if s.real() {
		if err := l.startContainerd(ctx, s, tell); err != nil {
			return err
		}
	}
	err := l.await(ctx, wait{"kube-apiserver", apiLimit, []string{"etcd", "kube-apiserver"}}, func() error { return l.answers(ctx) })
	if err == nil {
		tell("the API server answers")
	}
	return err
}

// populate starts the remaining components and creates the objects of a new cluster.
func (l *Lab) populate(ctx context.Context, s state) error {
	rest := []component{l.controllers(s), l.scheduler(s), l.provisioner(s)}
	if s.real() {
		rest = append(rest, l.nodeComponents(s)...)
	}
	for _, c := range rest {
		if err := l.start(c); err != nil {
			return err
		}
	}
	if err := l.makeObjects(ctx, s); err != nil {
		return err
	}
	if err := l.makeFakeNodes(ctx, s, fakes{First: 1, Count: s.FakeNodes, GPUs: s.FakeGPUs, Taint: s.real()}); err != nil {
		return err
	}
	return l.await(ctx, wait{"cluster", clusterLimit, l.components()}, func() error { return l.healthy(ctx, s) })
}
