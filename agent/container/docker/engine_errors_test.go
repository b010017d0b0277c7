package docker

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/client"
	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/container"
)

func TestOnlyEngineErrorsCountAsShortage(t *testing.T) {
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
		// Messages that a task can cause.
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
		got := translateError(fmt.Errorf("pull image: %w", err))
		if c.want != nil && !errors.Is(got, c.want) {
			t.Errorf("%s: got %v, want what means %v", c.text, got, c.want)
		}
		if _, short := errors.AsType[*shortError](got); short && c.want == nil {
			t.Errorf("%s: got %v, want the task's own fault", c.text, got)
		}
		if got.Error() != "pull image: "+c.text {
			t.Errorf("got %q, want the engine's error", got)
		}
	}
	if translateError(nil) != nil {
		t.Error("no error has become one")
	}
}

func TestRegistryErrorsDoNotMakeMachineSick(t *testing.T) {
	t.Parallel()
	const daemon = "Error response from daemon: "
	for _, c := range []struct {
		text string
		want error
	}{
		{"failed to register layer: write /usr/lib/x: no space left on device", unix.ENOSPC},
		{daemon + "write /var/lib/docker/tmp/GetImageBlob1: no space left on device", unix.ENOSPC},
		{"failed to extract layer sha256:1: mkdir /x: disk quota exceeded: unknown", unix.EDQUOT},
		{"failed to register layer: fork/exec /proc/self/exe: cannot allocate memory", unix.ENOMEM},
		// Messages that a task can cause.
		{"unknown: failed to register layer: write /x: no space left on device", nil},
		{daemon + "toomanyrequests: no space left on device", nil},
		{`Head "https://mine/v2/x": malformed MIME header line: x: no space left on device`, nil},
		{"error pulling image configuration: denied: x: too many open files: unknown", nil},
		{"failed to copy: httpReadSeeker: failed open: x: disk quota exceeded", nil},
	} {
		err := fmt.Errorf("pull image mine/x: %w", &pullError{errors.New(c.text)})
		got := translateError(err)
		if c.want != nil && !errors.Is(got, c.want) || c.want == nil && got != err { //nolint:errorlint // the same
			t.Errorf("%s: got %v, want what means %v", c.text, got, c.want)
		}
		if got.Error() != "pull image mine/x: "+c.text {
			t.Errorf("got %q, want the engine's error", got)
		}
	}
}

// A pull error contains the registry's message, here sent by a fake engine.
func TestAnErrorOfAPullIsMarked(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"errorDetail":{"message":"unknown: x: no space left on device"},"error":"x"}`+"\n")
	}))
	t.Cleanup(server.Close)
	api, err := client.New(client.WithHost("tcp://" + server.Listener.Addr().String()))
	if err != nil {
		t.Fatal(err)
	}
	spec := container.Spec{ID: "c", Image: "mine/x", Command: []string{"true"}, ForcePull: true, Auth: container.Auth{Username: "u"}}
	err = translateError((&Runtime{api: api}).prepareImage(t.Context(), spec, func(string) {}))
	if err == nil || !strings.Contains(err.Error(), "no space left on device") || errors.Is(err, unix.ENOSPC) {
		t.Errorf("got %v, want the registry's error, believed by nobody", err)
	}
}

// kindError has a kind like the errors of the engine's client, which is not in its text.
type kindError struct{ text, kind error }

func (e *kindError) Error() string   { return e.text.Error() }
func (e *kindError) Unwrap() []error { return []error{e.text, e.kind} }
