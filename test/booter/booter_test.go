package booter_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/test/booter"
)

// rack is a cloud whose machines are set by the test. They run the startup script of their metadata
// service.
type rack struct {
	mu       sync.Mutex
	machines map[string]booter.Machine
}

const startupScript = `echo "I am $(hostname) on $(dmidecode -s system-manufacturer), $(systemd-detect-virt), serial $(dmidecode -s system-serial-number)"
`

const startupUnit = `[Service]
Type=oneshot
ExecStart=/bin/sh -c 'curl -s http://metadata.rack/startup-script | sh >/dev/console 2>&1'
`

func (r *rack) Platform() booter.Platform {
	return booter.Platform{
		Vendor: "Rack", Virt: "kvm", MetadataHost: "metadata.rack",
		Serial: func(id string) string { return "00000000-0000-0000-0000-00000000000" + id },
		Files: map[string]string{
			"etc/systemd/system/startup.service":                     startupUnit,
			"etc/systemd/system/multi-user.target.d/startup.conf":    "[Unit]\nWants=startup.service\n",
			"usr/lib/systemd/system-generators/cloud-init-generator": "#!/bin/sh\n",
		},
		Programs: map[string]string{"/usr/bin/curl": "curl"},
	}
}

func (r *rack) Machines(context.Context) ([]booter.Machine, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []booter.Machine
	for _, m := range r.machines {
		out = append(out, m)
	}
	return out, nil
}

func (r *rack) Metadata(context.Context, string) (http.Handler, error) {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, startupScript) }), nil
}

// PoweredOff removes the machine.
func (r *rack) PoweredOff(_ context.Context, id string) error {
	r.set(booter.Machine{ID: id}, false)
	return nil
}

func (r *rack) set(m booter.Machine, exists bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if exists {
		r.machines[m.ID] = m
	} else {
		delete(r.machines, m.ID)
	}
}

func (r *rack) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.machines)
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); !ok(); <-time.After(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within three minutes", what)
		}
	}
}

// The booter supports clouds other than Amazon's, with their own firmware data, images and
// metadata.
func TestBootMachinesOfCustomCloud(t *testing.T) {
	t.Parallel()
	r := &rack{machines: map[string]booter.Machine{}}
	lab := booter.OpenLab(t)
	lab.Tools = toolsBelowTmp(t)
	b := booter.Start(t, lab, r)
	one := booter.Machine{ID: "1", Powered: true, Hostname: "one", Addresses: []string{"10.0.0.1"}}
	two := booter.Machine{ID: "2", Powered: true, Hostname: "two", Addresses: []string{"10.0.0.2"}}
	r.set(one, true)
	r.set(two, true)
	for id, want := range map[string]string{
		"1": "I am one on Rack, kvm, serial 00000000-0000-0000-0000-000000000001",
		"2": "I am two on Rack, kvm, serial 00000000-0000-0000-0000-000000000002",
	} {
		eventually(t, id+" runs its startup script", func() bool { return strings.Contains(b.Console(id), want) })
	}
	if got := run(t, b, "1", "cat", filepath.Join(lab.Tools, "tool")); !strings.Contains(got, "of the host") {
		t.Errorf("a machine does not see the host's tools: %s", got)
	}
	one.Disks = []booter.Disk{{ID: "data", Device: "sdb", Serial: "data-1"}}
	r.set(one, true)
	eventually(t, "the disk is there", func() bool {
		return strings.Contains(run(t, b, "1", "sh", "-c", "test -b /dev/sdb && cat /sys/block/sdb/device/serial"), "data-1")
	})
	r.set(one, false)
	eventually(t, "the removed one dies and the other stays", func() bool { return len(b.Running()) == 1 && b.Running()[0] == "2" })
	run(t, b, "2", "systemctl", "poweroff")
	eventually(t, "the cloud is notified of the shutdown", func() bool { return r.count() == 0 })
}

// toolsBelowTmp creates a directory with a file at a path where machines have their own file
// system.
func toolsBelowTmp(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "tools") //nolint:usetesting // TMPDIR may be elsewhere
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // remains of a temporary directory are harmless
	if err := os.WriteFile(filepath.Join(dir, "tool"), []byte("of the host"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// run runs a program inside of a machine and returns its output.
func run(t *testing.T, b *booter.Booter, id, name string, args ...string) string {
	t.Helper()
	c, err := b.Command(t.Context(), id, name, args...)
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.CombinedOutput()
	return fmt.Sprint(string(out), err)
}

func TestLabIsIsolated(t *testing.T) {
	t.Parallel()
	l := booter.OpenLab(t)
	client := l.Client()
	client.Timeout = time.Second
	for _, address := range []string{"1.1.1.1:443", "54.1.2.3:8080", "192.0.2.1:80"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address, nil)
		if err != nil {
			t.Fatal(err)
		}
		if answer, err := client.Do(request); err == nil {
			_ = answer.Body.Close()
			t.Errorf("%s answers", address)
		}
	}
}
