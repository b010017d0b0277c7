package kubetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The clusters of tests. The numbers below are for people, those above for
// test/kube's test of itself.
const (
	firstID = 64
	lastID  = 119
)

// lockLimit is how long a test waits for others' nodes; a package with a
// cluster takes up to five minutes.
const lockLimit = 15 * time.Minute

// claim is the right to one number, by a lock that ends with the process. What
// a test that was killed has left is removed by the next that gets its number. For
// the cluster of a whole run the lock is held by test/run.sh, which does the same.
type claim struct {
	id     int
	dir    string
	script string
	locks  []*os.File
}

// claimsDir is the same for every test of this user, and not a path that a socket
// cannot have: theirs is at most 108 bytes.
func claimsDir() string {
	return filepath.Join(os.TempDir(), "kubetest-"+strconv.Itoa(os.Getuid()))
}

// claimOne takes the first number that is free, and where there is a real node
// the machine's one place for device plugins: alone for a node with GPUs, for
// each kubelet that starts there sweeps it.
func claimOne(ctx context.Context, script string, o Options) (*claim, error) {
	dir := claimsDir()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	k := &claim{dir: dir, script: script}
	if o.Mode == Node {
		how := syscall.LOCK_SH
		if o.GPUs > 0 {
			how = syscall.LOCK_EX
		}
		if err := k.awaitPlugins(ctx, how); err != nil {
			return nil, err
		}
	}
	for k.id = firstID; k.id <= lastID; k.id++ {
		mine, err := k.lock(strconv.Itoa(k.id), syscall.LOCK_EX)
		if err != nil {
			return nil, err
		}
		if mine {
			_, err := k.run(ctx, downLimit, "down")
			return k, err
		}
	}
	return nil, fmt.Errorf("all %d clusters of tests are in use; see %s", lastID-firstID+1, dir)
}

// awaitPlugins waits for the place of device plugins.
func (k *claim) awaitPlugins(ctx context.Context, how int) error {
	if err := k.await(ctx, "plugins", how); err != nil {
		return fmt.Errorf("wait for the nodes of other tests: %w", err)
	}
	return nil
}

// await waits for a lock.
func (k *claim) await(ctx context.Context, name string, how int) error {
	ctx, cancel := context.WithTimeout(ctx, lockLimit)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		mine, err := k.lock(name, how)
		if mine || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// lock takes one lock, and reports whether it is ours now.
func (k *claim) lock(name string, how int) (bool, error) {
	f, err := os.OpenFile(filepath.Join(k.dir, name+".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return false, err
	}
	err = syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
	if err != nil {
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return false, errors.Join(err, f.Close())
		}
		return false, f.Close()
	}
	k.locks = append(k.locks, f)
	return true, nil
}

func (k *claim) release() {
	for _, f := range k.locks {
		_ = f.Close() // nothing was written
	}
}

// state is where the cluster's files are.
func (k *claim) state() string { return filepath.Join(k.dir, strconv.Itoa(k.id)) }

// run runs a command of kube.sh on the cluster.
func (k *claim) run(ctx context.Context, limit time.Duration, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, k.script, args...)
	cmd.Env = append(os.Environ(), "KUBE_LAB_ID="+strconv.Itoa(k.id), "KUBE_LAB_STATE="+k.state())
	// Files and not pipes: what it starts outlives it and may keep them open.
	out, err := os.CreateTemp(k.dir, "out")
	if err != nil {
		return "", err
	}
	defer discard(out)
	errs, err := os.CreateTemp(k.dir, "err")
	if err != nil {
		return "", err
	}
	defer discard(errs)
	cmd.Stdout, cmd.Stderr = out, errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("kube.sh %s: %w\n%s", strings.Join(args, " "), err, text(errs))
	}
	return text(out), nil
}

func text(f *os.File) string {
	b, err := os.ReadFile(f.Name())
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func discard(f *os.File) {
	_ = f.Close() // it has been read
	_ = os.Remove(f.Name())
}

// logs is the end of each component's log, for a cluster that did not start.
func (k *claim) logs() string {
	const most = 1500
	var b strings.Builder
	files, err := filepath.Glob(filepath.Join(k.state(), "logs", "*.log"))
	if err != nil {
		return err.Error()
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			continue // it was just there; the others say more
		}
		fmt.Fprintf(&b, "\n--- %s\n%s", filepath.Base(f), text[max(0, len(text)-most):])
	}
	return b.String()
}
