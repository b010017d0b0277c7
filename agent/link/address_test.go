package link

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

func TestReachableAddresses(t *testing.T) {
	t.Parallel()
	if got := addressOf(t.Context(), &net.TCPAddr{IP: net.IPv4(10, 0, 0, 7), Port: 4}); got != "10.0.0.7" {
		t.Errorf("got %q, want the address of the connection to the master", got)
	}
	got := addressOf(t.Context(), &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 4})
	if ip := net.ParseIP(got); got != "" && (ip == nil || ip.IsLoopback()) {
		t.Errorf("got %q beside a master on the same machine, want none or one that is no loopback", got)
	}
}

type silent struct{}

func (silent) Hello() *agentv1.Hello { return &agentv1.Hello{} }

func (silent) Serve(context.Context, *Conn, *agentv1.Welcome) error { return nil }

// The hello contains the machine's address. If the master is on the same machine, it contains the
// address of the machine's network.
func TestHelloContainsAddresses(t *testing.T) {
	t.Parallel()
	heard := make(chan string, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		ws, err := websocket.Accept(w, q, nil)
		if err != nil {
			t.Error(err)
			return
		}
		_, data, err := ws.Read(q.Context())
		var m agentv1.AgentMessage
		if err := errors.Join(err, proto.Unmarshal(data, &m), ws.CloseNow()); err != nil {
			t.Error(err)
		}
		heard <- m.GetHello().GetAddress()
	}))
	t.Cleanup(s.Close)
	l := &link{cfg: Config{
		URL: strings.Replace(s.URL, "http", "ws", 1), CredentialFile: filepath.Join(t.TempDir(), "none"), Log: slog.New(slog.DiscardHandler),
	}, peer: silent{}}
	if _, _, err := l.dialMaster(t.Context()); err == nil {
		t.Error("got a welcome from a master that hangs up")
	}
	if got, want := <-heard, addressOf(t.Context(), nil); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFirstAddressOfInterfaceIsUsed(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]string{
		"127.0.0.1/8":                       "",
		"10.0.0.1/8 10.0.0.2/8":             "10.0.0.1",
		"fe80::1/64 fd00::1/64 10.0.0.1/24": "10.0.0.1",
		"fe80::1/64 fd00::1/64 fd00::2/64":  "fd00::1",
		"":                                  "",
	} {
		var addresses []net.Addr
		for f := range strings.FieldsSeq(list) {
			ip, n, err := net.ParseCIDR(f)
			if err != nil {
				t.Fatal(err)
			}
			addresses = append(addresses, &net.IPNet{IP: ip, Mask: n.Mask})
		}
		if got := chooseAddress(addresses); got != want {
			t.Errorf("%q: got %q, want %q", list, got, want)
		}
	}
}
