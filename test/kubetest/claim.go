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

// IDs of test clusters. Lower IDs are for users, higher ones for the tests of test/kube.
const (
	firstID = 64
	lastID  = 119
)

// lockLimit limits the wait for the nodes of other tests; a package with a cluster takes up to five
// minutes.
const lockLimit = 15 * time.Minute

// claim is the exclusive use of one cluster ID, held by a lock that ends with the process. The next
// test that gets the ID removes the cluster of a killed test. For the cluster of a whole run
// test/run.sh holds the lock and does the same.
type claim struct {
	id     int
	dir    string
	script string
	locks  []*os.File
}

// claimsDir returns a directory that all tests of this user share. Its path is short, because the
// path of a socket has at most 108 bytes.
func claimsDir() string {
	return filepath.Join(os.TempDir(), "kubetest-"+strconv.Itoa(os.Getuid()))
}

// claimOne claims the first free ID and, for a real node, the machine's directory for device
// plugins: exclusively for a node with GPUs, because each kubelet that starts empties that
// directory. It returns an error if all IDs are in use.
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

// awaitPlugins waits for the lock of the directory for device plugins.
func (k *claim) awaitPlugins(ctx context.Context, how int) error {
	if err := k.await(ctx, "plugins", how); err != nil {
		return fmt.Errorf("wait for the nodes of other tests: %w", err)
	}
	return nil
}

// await waits for a lock. It returns an error after lockLimit.
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

// lock tries to take a lock and reports whether it was taken.
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

// state returns the directory of the cluster's files.
func (k *claim) state() string { return filepath.Join(k.dir, strconv.Itoa(k.id)) }

// run runs a command of kube.sh for the cluster and returns its output.
func (k *claim) run(ctx context.Context, limit time.Duration, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, k.script, args...)
	cmd.Env = append(os.Environ(), "KUBE_LAB_ID="+strconv.Itoa(k.id), "KUBE_LAB_STATE="+k.state())
	// A file instead of a pipe, because processes that outlive the command may keep it open.
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

// logs returns the end of each component's log, for a cluster that did not start.
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
			continue // it existed a moment ago; the other logs matter more
		}
		fmt.Fprintf(&b, "\n--- %s\n%s", filepath.Base(f), text[max(0, len(text)-most):])
	}
	return b.String()
}
