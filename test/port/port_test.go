package port_test

import (
	"net"
	"strconv"
	"testing"

	"github.com/det-deploy/det-deploy/test/port"
)

func TestFreePortIsUnusedAndNotEphemeral(t *testing.T) {
	t.Parallel()
	p := port.Free(t)
	if p >= 32768 {
		t.Errorf("got %d, want one below the ephemeral ports", p)
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(p)))
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close() // the test ends
}

func TestPortIsReservedUntilTestEnds(t *testing.T) {
	t.Parallel()
	var taken string
	t.Run("first", func(t *testing.T) {
		taken = net.JoinHostPort("127.0.0.1", strconv.Itoa(port.Free(t)))
		if l, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", taken); err == nil {
			_ = l.Close() // the test has failed
			t.Error("another test could take the port")
		}
	})
	l, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", taken)
	if err != nil {
		t.Fatalf("after the test: %v", err)
	}
	_ = l.Close() // the test ends
}
