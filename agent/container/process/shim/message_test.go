package shim

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/container/process/rootfs"
)

func readerOf(message []byte) reader { return reader{rest: message[lengthBytes+1:]} }

var orders = []Order{
	{Task: "/d/task", Argv: []string{"true"}},
	{
		Task: "/d/ü", Placing: InMounts, Argv: []string{"sh", "-c", "", "a\nb"}, Env: []string{"A=b", "C="}, Dir: "/run",
		Credential: &syscall.Credential{Uid: 1 << 31, Gid: 7},
		Tree: rootfs.Tree{
			Stage: "/d/stage", UID: 65534, GID: 1,
			Places: []rootfs.Place{{Path: "/a", Source: "/b", ReadOnly: true}, {Path: "/c", Source: "/d", Sealed: true}},
		},
	},
}

func TestWhatIsSaidIsUnderstood(t *testing.T) {
	t.Parallel()
	for i, want := range orders {
		r := readerOf(want.encode(uint64(i)))
		number, got := r.order()
		if got.Env == nil || want.Env == nil {
			got.Env, want.Env = nil, nil
		}
		if err := r.err(); err != nil || number != uint64(i) || !reflect.DeepEqual(got, want) {
			t.Errorf("got %d, %+v and %v, want %+v", number, got, err, want)
		}
	}
	r := readerOf(hello{pid: 7, tasks: []string{"a", "b"}}.encode())
	if got := r.hello(); r.err() != nil || got.pid != 7 || len(got.tasks) != 2 {
		t.Errorf("got %+v and %v", got, r.err())
	}
	other := newMessage(kindHello)
	other.number(protocol + 1)
	r = readerOf(other.bytes())
	if _ = r.hello(); r.err() == nil {
		t.Error("another protocol passes")
	}
}

// What is lacking on the machine is known by its error, across the process as well.
func TestErrorsKeepTheirReason(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		is   error
		fork bool
	}{
		{fmt.Errorf("a: %w", unix.ENOSPC), unix.ENOSPC, false},
		{&os.PathError{Op: "fork/exec", Path: "p", Err: unix.EAGAIN}, unix.EAGAIN, true},
		{errors.New("text"), nil, false},
	} {
		r := readerOf(started{number: 1, task: "t", err: c.err}.encode())
		got := r.started()
		p, isPath := errors.AsType[*os.PathError](got.err)
		if r.err() != nil || got.err == nil || got.err.Error() != c.err.Error() || c.is != nil && !errors.Is(got.err, c.is) || isPath && p.Op == forkOp != c.fork {
			t.Errorf("got %v, want %v", got.err, c.err)
		}
	}
}

func FuzzMessages(f *testing.F) {
	for _, o := range orders {
		f.Add(o.encode(3)[lengthBytes+1:])
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r := reader{rest: body}
		number, o := r.order()
		if r.err() == nil {
			again := readerOf(o.encode(number))
			if n, same := again.order(); n != number || !reflect.DeepEqual(same, o) {
				t.Errorf("got %+v of %+v", same, o)
			}
		}
		for _, take := range []func(*reader){
			func(r *reader) { r.hello() }, func(r *reader) { _ = r.started() }, func(r *reader) { _ = r.text() },
		} {
			take(&reader{rest: body})
		}
	})
}
