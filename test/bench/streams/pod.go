package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/internal/wait"
	"github.com/det-deploy/det-deploy/test/bench/master"
)

// The ports of the services in the pod.
const (
	podEcho   = 7000
	podSource = 7001
)

// podServices is the program of the task. It needs a busybox.
const podServices = `busybox nc -ll -p 7000 -e cat & exec busybox nc -ll -p 7001 -e cat /dev/zero`

// pod is a task in a pod, which is reached by det-deploy and by kubectl.
type pod struct {
	*cluster

	bin, namespace, name string
}

// measurePod compares streams into a task of an installed cluster with kubectl's into the same pod.
// DET_MASTER and DET_PASS are those of its administrator, as whom the command line is logged in, and
// kubectl has a kubeconfig of an administrator.
func measurePod(ctx context.Context, bin, namespace string, say func(what, format string, args ...any)) (err error) {
	p, err := startPod(ctx, bin, namespace)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, exec.CommandContext(ctx, bin, "task", "kill", p.task).Run()) }()
	f, err := p.forward(ctx)
	if err != nil {
		return err
	}
	defer f.stop()
	s := services{echo: podEcho, source: podSource}
	ways := map[string]dialer{"kubectl port-forward": f.dial, "stream": p.dial}
	programs := map[string][]string{
		"kubectl exec": {"kubectl", "exec", "-n", namespace, p.name, "-c", "determined-container", "--"}, "task exec": {bin, "task", "exec", p.task, "--"},
	}
	for range 3 {
		for _, name := range []string{"kubectl port-forward", "stream"} {
			if err := compare(ctx, ways[name], s, func(what, format string, args ...any) { say(name+", "+what, format, args...) }); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		for _, name := range []string{"kubectl exec", "task exec"} {
			if err := comparePrograms(ctx, programs[name], func(what, format string, args ...any) { say(name+", "+what, format, args...) }); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

func startPod(ctx context.Context, bin, namespace string) (*pod, error) {
	p := &pod{bin: bin, namespace: namespace, cluster: &cluster{Master: &master.Master{
		Addr: strings.TrimPrefix(os.Getenv("DET_MASTER"), "http://"), HTTP: http.DefaultClient,
	}}}
	var session struct{ Token string }
	login := map[string]string{"username": "admin", "password": os.Getenv("DET_PASS")}
	if err := p.Ask(ctx, http.MethodPost, "auth/login", login, &session); err != nil {
		return nil, err
	}
	p.Token = session.Token
	var made struct{ Command struct{ ID string } }
	body := map[string]any{"config": map[string]any{"entrypoint": []string{"sh", "-c", podServices}, "resources": map[string]any{"slots": 0}}}
	if err := p.Ask(ctx, http.MethodPost, "commands", body, &made); err != nil {
		return nil, err
	}
	p.task = made.Command.ID
	return p, p.await(ctx)
}

// await waits until both services answer in the pod.
func (p *pod) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		err := p.find(ctx)
		if err == nil {
			return nil
		}
		if wait.For(ctx, 200*time.Millisecond) != nil {
			return fmt.Errorf("the task does not answer: %w", err)
		}
	}
}

func (p *pod) find(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, "kubectl", "get", "pods", "-n", p.namespace, "-l", "determined.ai/task_id="+p.task, "-o", "jsonpath={.items[0].metadata.name}").Output()
	if err != nil {
		return err
	}
	p.name = string(out)
	c, err := p.dial(ctx, podEcho)
	if err != nil {
		return err
	}
	defer c.Close() //nolint:errcheck // it was tried
	_, err = turn(c)
	return err
}

// podForwarding is a running kubectl port-forward.
type podForwarding struct {
	ports map[int]int
	cmd   *exec.Cmd
}

var forwardedPort = regexp.MustCompile(`127\.0\.0\.1:(\d+) -> (\d+)`)

func (p *pod) forward(ctx context.Context) (*podForwarding, error) {
	f := &podForwarding{ports: make(map[int]int)}
	f.cmd = exec.CommandContext(ctx, "kubectl", "port-forward", "-n", p.namespace, "--address", "127.0.0.1", "pod/"+p.name,
		fmt.Sprintf(":%d", podEcho), fmt.Sprintf(":%d", podSource))
	out, err := f.cmd.StdoutPipe()
	if err == nil {
		err = f.cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(out)
	for len(f.ports) < 2 && lines.Scan() {
		if found := forwardedPort.FindStringSubmatch(lines.Text()); found != nil {
			local, _ := strconv.Atoi(found[1]) // both are numbers
			remote, _ := strconv.Atoi(found[2])
			f.ports[remote] = local
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }() // it prints a line for each connection
	return f, lines.Err()
}

func (f *podForwarding) dial(ctx context.Context, port int) (net.Conn, error) {
	return direct(ctx, f.ports[port])
}

func (f *podForwarding) stop() {
	_ = f.cmd.Process.Kill() // it may have ended
	_ = f.cmd.Wait()
}

// comparePrograms runs programs in the pod by a command, and transfers the output of one.
func comparePrograms(ctx context.Context, command []string, say func(what, format string, args ...any)) error {
	var all []time.Duration
	for range 50 {
		began := time.Now()
		if err := commandWith(ctx, command, "true").Run(); err != nil {
			return err
		}
		all = append(all, time.Since(began))
	}
	say("a program that ends at once", "p50 %v, p99 %v", at(all, 50), at(all, 99))
	const size = 256 << 20
	began := time.Now()
	if err := commandWith(ctx, command, "busybox", "head", "-c", strconv.Itoa(size), "/dev/zero").Run(); err != nil {
		return err
	}
	say("its output", "%.0f MB/s", size/1e6/time.Since(began).Seconds())
	return nil
}

func commandWith(ctx context.Context, command []string, more ...string) *exec.Cmd {
	all := append(append([]string(nil), command...), more...)
	return exec.CommandContext(ctx, all[0], all[1:]...) //nolint:gosec // they are constants and IDs
}
