package shim

import (
	"encoding/binary"
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/container/process/rootfs"
)

// protocol is the number of what is said here. A shim and an agent of two numbers do not
// understand each other.
const protocol = 1

// Kinds of messages.
const (
	// kindHello is a shim's first: who it is, and which tasks it has.
	kindHello = iota + 1
	// kindStart is an agent's order. The files of the task come with it.
	kindStart
	// kindStarted answers it, and tells other agents.
	kindStarted
	// kindEnded says that the code of a task is in its status file.
	kindEnded
)

// mostBytes is the longest message: the kernel takes no program with more arguments and variables.
const mostBytes = 16 << 20

// lengthBytes is how long the length before each message is.
const lengthBytes = 4

// writer puts a message together.
type writer []byte

func newMessage(kind byte) writer { return append(make(writer, lengthBytes, 512), kind) }

// bytes is the message with its length.
func (w writer) bytes() []byte {
	binary.BigEndian.PutUint32(w, uint32(len(w)-lengthBytes))
	return w
}

func (w *writer) number(n uint64) { *w = binary.AppendUvarint(*w, n) }

func (w *writer) flag(is bool) {
	n := uint64(0)
	if is {
		n = 1
	}
	w.number(n)
}

func (w *writer) text(s string) {
	w.number(uint64(len(s)))
	*w = append(*w, s...)
}

func (w *writer) texts(list []string) {
	w.number(uint64(len(list)))
	for _, s := range list {
		w.text(s)
	}
}

// reader takes a message apart. What is behind its end is zero, and an error.
type reader struct {
	rest []byte
	bad  bool
}

var errGarbled = errors.New("a message of another program, or cut short")

func (r *reader) err() error {
	if r.bad || len(r.rest) > 0 {
		return errGarbled
	}
	return nil
}

func (r *reader) number() uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 {
		r.bad, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

func (r *reader) flag() bool { return r.number() == 1 }

func (r *reader) text() string {
	n := r.number()
	if n > uint64(len(r.rest)) {
		r.bad, r.rest = true, nil
		return ""
	}
	s := string(r.rest[:n])
	r.rest = r.rest[n:]
	return s
}

func (r *reader) texts() []string {
	n := r.number()
	if n > uint64(len(r.rest)) { // each has a length at least
		r.bad, r.rest = true, nil
		return nil
	}
	out := make([]string, n)
	for i := range out {
		out[i] = r.text()
	}
	return out
}

// encode puts an order down under a number by which it is answered.
func (o Order) encode(number uint64) []byte {
	w := newMessage(kindStart)
	w.number(number)
	w.text(o.Task)
	w.number(uint64(o.Placing))
	w.number(uint64(len(o.Tree.Places)))
	for _, p := range o.Tree.Places {
		w.text(p.Path)
		w.text(p.Source)
		w.flag(p.ReadOnly)
		w.flag(p.Sealed)
	}
	w.text(o.Tree.Stage)
	w.number(uint64(o.Tree.UID))
	w.number(uint64(o.Tree.GID))
	w.texts(o.Argv)
	w.texts(o.Env)
	w.text(o.Dir)
	w.flag(o.Credential != nil)
	if c := o.Credential; c != nil {
		w.number(uint64(c.Uid))
		w.number(uint64(c.Gid))
	}
	return w.bytes()
}

func (r *reader) order() (number uint64, o Order) {
	number = r.number()
	o.Task = r.text()
	o.Placing = Placing(r.number())
	places := r.number()
	for range min(places, uint64(len(r.rest))) {
		o.Tree.Places = append(o.Tree.Places, rootfs.Place{Path: r.text(), Source: r.text(), ReadOnly: r.flag(), Sealed: r.flag()})
	}
	o.Tree.Stage = r.text()
	o.Tree.UID, o.Tree.GID = int(r.number()), int(r.number())
	o.Argv, o.Env, o.Dir = r.texts(), r.texts(), r.text()
	if r.flag() {
		o.Credential = &syscall.Credential{Uid: uint32(r.number()), Gid: uint32(r.number())}
	}
	if len(o.Argv) == 0 {
		r.bad = true
	}
	return number, o
}

// started is the answer to an order.
type started struct {
	number uint64
	task   string
	Started
	err error
}

func (s started) encode() []byte {
	w := newMessage(kindStarted)
	w.number(s.number)
	w.text(s.task)
	w.number(s.Space)
	w.number(s.At)
	w.fault(s.err)
	return w.bytes()
}

func (r *reader) started() started {
	return started{number: r.number(), task: r.text(), Started: Started{Space: r.number(), At: r.number()}, err: r.fault()}
}

// fault puts an error down with what decides about it: what the machine lacks, and whether a
// process could not be made.
func (w *writer) fault(err error) {
	w.flag(err != nil)
	if err == nil {
		return
	}
	errno, _ := errors.AsType[unix.Errno](err)
	fork, _ := errors.AsType[*os.PathError](err)
	w.text(err.Error())
	w.number(uint64(errno))
	w.flag(fork != nil && fork.Op == forkOp)
}

// forkOp is what the standard library calls it.
const forkOp = "fork/exec"

func (r *reader) fault() error {
	if !r.flag() {
		return nil
	}
	f := &fault{text: r.text()}
	if errno := r.number(); errno != 0 {
		f.err = unix.Errno(errno)
	}
	if r.flag() {
		f.err = &os.PathError{Op: forkOp, Err: f.err}
	}
	return f
}

// fault is an error of the shim's.
type fault struct {
	text string
	err  error
}

func (f *fault) Error() string { return f.text }

// Unwrap gives the kernel's reason, or nil.
func (f *fault) Unwrap() error { return f.err }

// hello is who a shim is.
type hello struct {
	pid   int
	tasks []string
}

func (h hello) encode() []byte {
	w := newMessage(kindHello)
	w.number(protocol)
	w.number(uint64(h.pid))
	w.texts(h.tasks)
	return w.bytes()
}

func (r *reader) hello() (h hello) {
	if r.number() != protocol { // what follows may be anything
		r.bad, r.rest = true, nil
	}
	return hello{pid: int(r.number()), tasks: r.texts()}
}

func encodeEnded(task string) []byte {
	w := newMessage(kindEnded)
	w.text(task)
	return w.bytes()
}
