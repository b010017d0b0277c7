package kube

import (
	"errors"
	"net"
	"net/url"
	"os"
	"syscall"
	"testing"

	"github.com/det-deploy/det-deploy/cloud"
)

// An address that does not answer is named without the words of Go's network library.
func TestUnreachableServerIsNamed(t *testing.T) {
	t.Parallel()
	at := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 6443}
	refused := os.NewSyscallError("connect", syscall.ECONNREFUSED)
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"refused":      {&net.OpError{Op: "dial", Net: "tcp", Addr: at, Err: refused}, "cannot connect to 192.0.2.1:6443: connection refused"},
		"no answer":    {&net.OpError{Op: "dial", Net: "tcp", Addr: at, Err: os.ErrDeadlineExceeded}, "cannot connect to 192.0.2.1:6443: it does not answer"},
		"no such host": {&net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "k8s.example"}}, "cannot find the host k8s.example: no such host"},
	} {
		err := Translate(Call{Verb: "list", Resource: "secrets", Namespace: "lab"}, &url.Error{Op: "Get", URL: "https://192.0.2.1:6443/api", Err: tc.err})
		if want := "k8s:list secrets: " + tc.want; err.Error() != want || cloud.KindOf(err) != cloud.Unavailable || !errors.Is(err, tc.err) {
			t.Errorf("%s: got %q of %v, want %q", name, cloud.KindOf(err), err, want)
		}
	}
}
