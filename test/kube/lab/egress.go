package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"time"
)

// ServeEgress opens the connections of an API server without a node. Fake pods have addresses; a
// request to proxy to one of them, to read a node's logs or to call a webhook behind a Service must
// not leave the machine. It connects to loopback addresses and rejects all others.
func (l *Lab) ServeEgress(ctx context.Context) error {
	socket := l.path("egress.sock")
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "unix", socket)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: http.HandlerFunc(egress), ReadHeaderTimeout: 10 * time.Second}
	return server.Serve(listener)
}

func egress(w http.ResponseWriter, r *http.Request) {
	host, _, err := net.SplitHostPort(r.Host)
	if ip := net.ParseIP(host); r.Method != http.MethodConnect || err != nil || ip == nil || !ip.IsLoopback() {
		http.Error(w, fmt.Sprintf("%s is not an address of this machine: fake pods and nodes have no network", r.Host), http.StatusForbidden)
		return
	}
	out, err := new(net.Dialer).DialContext(r.Context(), "tcp", r.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer out.Close() //nolint:errcheck // both ends are done
	in, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer in.Close() //nolint:errcheck // both ends are done
	if _, err := fmt.Fprint(in, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	done := make(chan struct{}, 2)
	go func() { io.Copy(out, buffered); done <- struct{}{} }() //nolint:errcheck // the copy ends with the connection
	go func() { io.Copy(in, out); done <- struct{}{} }()       //nolint:errcheck // see above
	<-done
}
