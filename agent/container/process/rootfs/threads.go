package rootfs

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// waitingMost is how many threads wait for what is to run next: as many tasks as start at once on a busy
// machine. One that waits has some 20 KB.
const waitingMost = 16

// Threads run functions that give their thread a mount namespace of its own. To make a thread and to
// end it costs more than the namespace, and so a thread goes back to that of the process, where it
// can, and waits for the next function. Make them with NewThreads.
type Threads struct {
	// mounts, root and dir are what a thread of this process has that has not been elsewhere.
	mounts, root, dir *os.File
	// others are other namespaces of the process to which a thread goes back.
	others []*os.File

	jobs    chan job
	waiting atomic.Int32
}

type job struct {
	do   func() error
	done chan error
}

// NewThreads has no thread yet. Others are the kinds of namespaces that functions may give their thread
// besides one of mounts, as /proc/self/ns names them.
func NewThreads(others ...string) (*Threads, error) {
	t := &Threads{jobs: make(chan job), others: make([]*os.File, len(others))}
	for i, kind := range others {
		var err error
		if t.others[i], err = os.Open("/proc/self/ns/" + kind); err != nil {
			return nil, errors.Join(err, t.Close())
		}
	}
	for _, f := range []struct {
		to   **os.File
		name string
		flag int
	}{
		{&t.mounts, "/proc/self/ns/mnt", 0},
		{&t.root, "/", unix.O_PATH | unix.O_DIRECTORY},
		{&t.dir, ".", unix.O_PATH | unix.O_DIRECTORY},
	} {
		var err error
		if *f.to, err = os.OpenFile(f.name, f.flag, 0); err != nil {
			return nil, errors.Join(err, t.Close())
		}
	}
	return t, nil
}

// Close lets the threads end. Nothing runs any more, and nothing may be run.
func (t *Threads) Close() error {
	close(t.jobs)
	var errs []error
	for _, f := range append([]*os.File{t.mounts, t.root, t.dir}, t.others...) {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// Run runs f on a thread that nothing else uses meanwhile, and that is never the process's first: see
// OnOwnThread. What f may make of the thread is a mount namespace, a root, a directory,
// and what NewThreads was told.
func (t *Threads) Run(f func() error) error {
	j := job{do: f, done: make(chan error, 1)}
	select {
	case t.jobs <- j:
	default:
		go func() { _ = OnOwnThread(func() error { t.serve(j); return nil }) }()
	}
	return <-j.done
}

// serve carries out one job after the other. The thread ends where it cannot go back, or enough wait.
func (t *Threads) serve(j job) {
	for open := true; open; {
		err := j.do()
		stays := t.goBack() == nil && t.mayWait()
		j.done <- err
		if !stays {
			return
		}
		j, open = <-t.jobs
		t.waiting.Add(-1)
	}
}

// mayWait says whether one more thread may wait, and counts it.
func (t *Threads) mayWait() bool {
	if t.waiting.Add(1) <= waitingMost {
		return true
	}
	t.waiting.Add(-1)
	return false
}

// goBack has this thread see what the process sees.
func (t *Threads) goBack() error {
	if err := unix.Setns(int(t.mounts.Fd()), unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("leave a mount namespace: %w", err)
	}
	for _, f := range t.others {
		if err := unix.Setns(int(f.Fd()), 0); err != nil {
			return fmt.Errorf("leave a namespace: %w", err)
		}
	}
	if err := unix.Fchdir(int(t.root.Fd())); err != nil {
		return err
	}
	if err := unix.Chroot("."); err != nil {
		return err
	}
	return unix.Fchdir(int(t.dir.Fd()))
}
