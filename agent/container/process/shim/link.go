package shim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// link is a connection to a shim.
type link struct {
	shims *Shims
	conn  *net.UnixConn
	pid   int

	writing sync.Mutex
	// gone is closed when nothing comes any more.
	gone chan struct{}

	// What follows is guarded by shims.mu. closing says that it is this agent that leaves; tasks
	// and orders are how many there are, and used counts all orders.
	closing       bool
	tasks, orders int
	used          uint64
	answers       map[uint64]chan started
}

// addLink waits for the greeting of a shim.
func (s *Shims) addLink(conn *net.UnixConn, patience time.Duration) (*link, error) {
	in := &packets{conn: conn}
	err := checkPeer(conn)
	var h hello
	if err == nil {
		h, err = readHello(in, patience)
	}
	if err != nil {
		in.close()
		return nil, err
	}
	l := &link{shims: s, conn: conn, pid: h.pid, gone: make(chan struct{}), answers: map[uint64]chan started{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		in.close()
		return nil, errors.New("this agent ends")
	}
	s.links[l] = true
	for _, task := range h.tasks {
		l.addTask(task)
	}
	go l.listen(in)
	return l, nil
}

func readHello(in *packets, patience time.Duration) (hello, error) {
	if err := in.conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return hello{}, err
	}
	kind, body, err := in.next()
	if err != nil {
		return hello{}, err
	}
	h := body.hello()
	if err := body.err(); err != nil || kind != kindHello {
		return hello{}, errGarbled
	}
	return h, in.conn.SetReadDeadline(time.Time{})
}

// isThisProgram says whether the shim runs the file that this process does, and sees of the machine
// what it sees.
func (l *link) isThisProgram() bool {
	for _, what := range []string{"exe", "root", "ns/mnt", "ns/net", "ns/user", "ns/cgroup"} {
		own, err1 := os.Stat("/proc/self/" + what)
		its, err2 := os.Stat("/proc/" + strconv.Itoa(l.pid) + "/" + what)
		if err1 != nil || err2 != nil || !os.SameFile(own, its) {
			return false
		}
	}
	// What the machine allows an agent that was put elsewhere holds for its tasks, too.
	own, err1 := os.ReadFile("/proc/self/cgroup")
	its, err2 := os.ReadFile("/proc/" + strconv.Itoa(l.pid) + "/cgroup")
	return errors.Is(err1, fs.ErrNotExist) || err1 == nil && err2 == nil && bytes.Equal(own, its)
}

// close leaves the shim; the caller holds shims.mu.
func (l *link) close() {
	l.closing = true
	_ = l.conn.Close()
}

// order sends an order and waits for its answer. The one who got the link has counted it.
func (l *link) order(ctx context.Context, o Order, f Files) (Started, error) {
	answer := make(chan started, 1)
	s := l.shims
	s.mu.Lock()
	l.used++
	number := l.used
	l.answers[number] = answer
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(l.answers, number)
		l.orders--
		s.leaveUnused()
	}()
	message := o.encode(number)
	if len(message) > lengthBytes+mostBytes {
		return Started{}, fmt.Errorf("order of %d bytes: %w", len(message), unix.E2BIG)
	}
	if err := l.send(message, f); err != nil {
		l.passOver()
		return Started{}, fmt.Errorf("%w: %w", ErrLost, err)
	}
	select {
	case a := <-answer:
		return a.Started, a.err
	case <-l.gone:
	case <-ctx.Done():
	}
	select { // what came last counts
	case a := <-answer:
		return a.Started, a.err
	default:
		return Started{}, errors.Join(ErrLost, ctx.Err())
	}
}

// passOver has the next tasks ordered from another shim: that this one has gone may be heard only after
// they were.
func (l *link) passOver() {
	s := l.shims
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.own == l {
		s.own = nil
	}
}

func (l *link) send(message []byte, f Files) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	return send(l.conn, message, f.Status, f.Stdout, f.Stderr)
}

// addTask notes a task that will end; the caller holds shims.mu.
func (l *link) addTask(task string) {
	l.tasks++
	l.shims.tasks[task] = &running{link: l, ended: make(chan struct{})}
}

// listen takes in what the shim says until it has gone.
func (l *link) listen(in *packets) {
	defer l.end(in)
	for {
		kind, body, err := in.next()
		if err != nil {
			return
		}
		l.shims.mu.Lock()
		switch kind {
		case kindStarted:
			l.takeStarted(body.started())
		case kindEnded:
			l.takeEnded(body.text())
		}
		l.shims.mu.Unlock()
	}
}

func (l *link) takeStarted(a started) {
	if a.err == nil {
		l.addTask(a.task)
	}
	if c := l.answers[a.number]; c != nil {
		c <- a
	}
}

func (l *link) takeEnded(task string) {
	if r := l.shims.tasks[task]; r != nil && r.link == l {
		delete(l.shims.tasks, task)
		close(r.ended)
		l.tasks--
		l.shims.leaveUnused()
	}
}

// end is after the last message.
func (l *link) end(in *packets) {
	in.close()
	s := l.shims
	s.mu.Lock()
	defer s.mu.Unlock()
	var lost []string
	for task, r := range s.tasks {
		if r.link == l {
			lost = append(lost, task)
			delete(s.tasks, task)
			close(r.ended)
		}
	}
	delete(s.links, l)
	if s.own == l {
		s.own = nil
	}
	close(l.gone)
	if os.Getpid() == 1 { // as in a container: what has no parent is this process's to reap
		go func() { _, _ = unix.Wait4(l.pid, nil, 0, nil) }()
	}
	if !l.closing {
		s.opts.Log.Warn("the process that starts tasks has ended; what it had running is lost, and the next task starts another", "pid", l.pid, "tasks", len(lost))
	}
}
