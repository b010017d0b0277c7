package docker

import (
	"errors"
	"fmt"
	"testing"

	cerrdefs "github.com/containerd/errdefs"
	"golang.org/x/sys/unix"
)

func TestOnlyTheEnginesOwnWordsMeanThatItsMachineLacksSomething(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		kind error
		want error
	}{
		{"failed to register layer: write /usr/lib/x: no space left on device", cerrdefs.ErrInternal, unix.ENOSPC},
		{"OCI runtime create failed: mkdir /run/x: no space left on device: unknown", cerrdefs.ErrInternal, unix.ENOSPC},
		{"open /var/lib/docker/x: disk quota exceeded", nil, unix.EDQUOT},
		{"accept4: too many open files", cerrdefs.ErrInternal, unix.EMFILE},
		{"open /x: too many open files in system", cerrdefs.ErrInternal, unix.ENFILE},
		{"fork/exec /usr/bin/containerd-shim: cannot allocate memory", cerrdefs.ErrInternal, unix.ENOMEM},
		{"fork/exec /usr/bin/runc: resource temporarily unavailable", cerrdefs.ErrInternal, unix.EAGAIN},
		// What a task can have the engine say.
		{"error during container init: cannot allocate memory", cerrdefs.ErrInternal, nil},
		{`exec: "x: no space left on device": executable file not found in $PATH`, cerrdefs.ErrInternal, nil},
		{"bind source path does not exist: /x: no space left on device", cerrdefs.ErrInvalidArgument, nil},
		{"No such container: x: no space left on device", cerrdefs.ErrNotFound, nil},
		{"no such image", cerrdefs.ErrNotFound, nil},
	} {
		err := errors.New(c.text)
		if c.kind != nil {
			err = &kindError{err, c.kind}
		}
		got := translate(fmt.Errorf("pull image: %w", err))
		if c.want != nil && !errors.Is(got, c.want) {
			t.Errorf("%s: got %v, want what means %v", c.text, got, c.want)
		}
		for _, s := range shortOf {
			if c.want == nil && errors.Is(got, s.err) {
				t.Errorf("%s: got %v, want the task's own fault", c.text, s.err)
			}
		}
		if got.Error() != "pull image: "+c.text {
			t.Errorf("got %q, want the engine's words", got)
		}
	}
	if translate(nil) != nil {
		t.Error("no error has become one")
	}
}

// kindError has a kind as those of the engine's client have, and not in its text.
type kindError struct{ text, kind error }

func (e *kindError) Error() string   { return e.text.Error() }
func (e *kindError) Unwrap() []error { return []error{e.text, e.kind} }
