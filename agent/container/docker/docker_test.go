package docker

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	engine "github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/system"
	"github.com/moby/moby/client"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/agent/container/inside"
	"github.com/det-deploy/det-deploy/internal/stream"
	containertest "github.com/det-deploy/det-deploy/test/contract/container"
	"github.com/det-deploy/det-deploy/test/dockertest"
)

func script(id, text string) container.Spec {
	return container.Spec{
		ID: id, Agent: "me", Cluster: containertest.Cluster, Allocation: "a.1", Type: "COMMAND",
		Image: dockertest.Image, Command: []string{"sh", "-c", text}, NetworkMode: "none",
		Env: []string{"DET_CONTAINER_ID=" + id},
	}
}

func TestDocker(t *testing.T) {
	t.Parallel()
	d, dir := dockertest.Start(t), t.TempDir()
	connect := func(t *testing.T, agent string) *Runtime {
		t.Helper()
		r, err := New(t.Context(), Options{Host: d.Host, Agent: agent, HostIP: "192.0.2.7"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = r.Close() })
		return r
	}
	t.Run("nobody in a container becomes more than who started it", func(t *testing.T) {
		t.Parallel()
		isBounded(t, connect(t, "bounded"))
	})
	t.Run("contract", func(t *testing.T) {
		t.Parallel()
		containertest.Suite{
			// Each rule uses a separate agent ID on the shared engine.
			New: func(t *testing.T) container.Runtime { return &scoped{connect(t, t.Name()), t.Name()} },
			Again: func(t *testing.T, r container.Runtime) container.Runtime {
				old := r.(*scoped)
				return &scoped{connect(t, old.agent), old.agent}
			},
			Spec: script,
		}.Run(t)
	})
	t.Run("who enters a container has its user's rights", func(t *testing.T) {
		t.Parallel()
		entersWithoutRights(t, connect(t, "enters"))
	})
	t.Run("the next agent ends what entered its containers", func(t *testing.T) {
		t.Parallel()
		again := func() *Runtime {
			r, err := New(t.Context(), Options{Host: d.Host, Agent: "killed", Entered: filepath.Join(dir, "entered")})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = r.Close() })
			return r
		}
		endsWhatEntered(t, again)
	})
	t.Run("what a spec asks for is there", func(t *testing.T) {
		t.Parallel()
		hasWhatItAsksFor(t, connect(t, "asks"))
	})
	t.Run("a home and Python's buffer are the image's, or else ours", func(t *testing.T) {
		t.Parallel()
		testDefaultEnviron(t, d, connect(t, "defaults"))
	})
	t.Run("what can never be made is refused before its image is pulled", func(t *testing.T) {
		t.Parallel()
		r := connect(t, "never")
		for want, change := range map[string]func(*container.Spec){
			"bind mount /data: /no/such/path does not exist on this machine": func(s *container.Spec) {
				s.Mounts = []container.Mount{{HostPath: "/no/such/path", ContainerPath: "/data"}}
			},
			"device /dev/no-such: does not exist on this machine": func(s *container.Spec) { s.Devices = []container.Device{{HostPath: "/dev/no-such"}} },
			"port 70000: must be between 1 and 65535":             func(s *container.Spec) { s.Ports = []int{70000} },
		} {
			spec := script("never", "exit 0")
			spec.Image = "127.0.0.1:1/no/such:image"
			change(&spec)
			err := r.Prepare(t.Context(), spec, func(s string) { t.Errorf("%s: it goes on with %q", want, s) })
			if err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
		}
	})
	t.Run("an image that is nowhere is a reason", func(t *testing.T) {
		t.Parallel()
		r := connect(t, "nowhere")
		spec := script("nowhere", "exit 0")
		spec.Image = "127.0.0.1:1/no/such:image"
		spec.Auth = container.Auth{Username: "me", Password: "hunter2"}
		var notes []string
		err := r.Prepare(t.Context(), spec, func(s string) { notes = append(notes, s) })
		if err == nil || !strings.Contains(err.Error(), "pull image 127.0.0.1:1/no/such:image") {
			t.Errorf("got %v", err)
		}
		if !slices.Equal(notes, []string{"pulling image 127.0.0.1:1/no/such:image"}) {
			t.Errorf("got notes %q", notes)
		}
	})
	t.Run("a start that was cut short is done over, and one that happened is kept", func(t *testing.T) {
		t.Parallel()
		startsOnce(t, connect(t, "again"))
	})
	t.Run("a refused mount is a reason", func(t *testing.T) {
		t.Parallel()
		r := connect(t, "mount")
		spec := script("badmount", "exit 0")
		spec.Mounts = []container.Mount{{HostPath: "/no/such/directory", ContainerPath: "/x"}}
		if err := r.Start(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "/no/such/directory") {
			t.Errorf("got %v", err)
		}
		if err := r.Remove(t.Context(), spec.ID); err != nil {
			t.Error(err)
		}
	})
	t.Run("a network of the agent's own is made once", func(t *testing.T) {
		t.Parallel()
		for range 2 {
			r := connect(t, "net")
			r.opts.Network = "det-deploy-test-net"
			if err := r.ensureNetwork(t.Context(), "det-deploy-test-net"); err != nil {
				t.Fatal(err)
			}
		}
		n, err := d.API.NetworkInspect(t.Context(), "det-deploy-test-net", client.NetworkInspectOptions{})
		if err != nil || n.Network.Driver != "bridge" {
			t.Errorf("network: got %+v and %v, want a bridge", n.Network, err)
		}
		if _, err := d.API.NetworkRemove(t.Context(), "det-deploy-test-net", client.NetworkRemoveOptions{}); err != nil {
			t.Error(err)
		}
	})
	t.Run("labels and addresses are as people and masters expect", func(t *testing.T) {
		t.Parallel()
		r := connect(t, "labels")
		spec := script("labelled", "sleep 600")
		spec.Agent, spec.Description, spec.SlotIDs = "labels", "mine", []int32{0, 2}
		spec.NetworkMode, spec.Ports = "host", []int{8888}
		if err := r.Start(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = r.Remove(t.Context(), spec.ID) })
		c, err := d.API.ContainerInspect(t.Context(), "det-deploy-labelled", client.ContainerInspectOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for key, want := range map[string]string{
			labelID: "labelled", labelAgent: "labels", labelCluster: containertest.Cluster, labelType: "COMMAND",
			labelAllocation: "a.1", labelDescription: "mine", labelDevices: "0,2",
		} {
			if got := c.Container.Config.Labels[key]; got != want {
				t.Errorf("%s: got %q, want %q", key, got, want)
			}
		}
		s, err := r.Inspect(t.Context(), spec.ID)
		want := []container.Address{{ContainerIP: "192.0.2.7", ContainerPort: 8888, HostIP: "192.0.2.7", HostPort: 8888}}
		if err != nil || !slices.Equal(s.Addresses, want) {
			t.Errorf("got %v, %v, want %v", s.Addresses, err, want)
		}
		if err := r.Remove(t.Context(), spec.ID); err != nil {
			t.Error(err)
		}
	})
}

// scoped makes the containers of each rule unique, because the rules run in parallel on one engine.
type scoped struct {
	*Runtime
	agent string
}

// Start sets the agent of the container to the rule's.
func (s *scoped) Start(ctx context.Context, spec container.Spec) error {
	spec.Agent = s.agent
	return s.Runtime.Start(ctx, spec)
}

// startsOnce tests a second start after an interrupted first one: a partial container is completed,
// a complete one stays.
func startsOnce(t *testing.T, r *Runtime) {
	spec := script("again", "sleep 600")
	options, err := r.createOptions(spec)
	if err != nil {
		t.Fatal(err)
	}
	half, err := r.createContainer(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	engineID := func() string {
		c, err := r.api.ContainerInspect(t.Context(), containerName(spec.ID), client.ContainerInspectOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return c.Container.ID
	}
	if err := r.Start(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	whole := engineID()
	if whole != half {
		t.Error("what the first start left was not used")
	}
	if err := r.Start(t.Context(), spec); err != nil || engineID() != whole {
		t.Errorf("a second start: %v; got container %s, want %s untouched", err, engineID(), whole)
	}
	if err := r.Remove(t.Context(), spec.ID); err != nil {
		t.Error(err)
	}
}

func hasWhatItAsksFor(t *testing.T, r *Runtime) {
	spec := script("asks", `id -u; id -g; stat -c %a /run/determined/work/f; stat -c %u /run/determined/work
busybox df -k /dev/shm | busybox awk 'NR==2{print $2}'
busybox awk '/^CapBnd/{print $2}' /proc/self/status
stat -c %F /dev/mine; ls /ro; touch /ro/x 2>/dev/null || echo read-only`)
	spec.User = &container.User{UID: 1234, GID: 4321}
	spec.WorkDir, spec.ShmSize = "/run/determined/work", 8<<20
	spec.DropCaps, spec.AddCaps = []string{"ALL"}, []string{"SYS_PTRACE"}
	spec.Devices = []container.Device{{HostPath: "/dev/null", ContainerPath: "/dev/mine", Mode: "rw"}}
	spec.Files = []container.File{{Path: "/run/determined/work/f", Mode: 0o640, UID: 1234, GID: 4321}}
	spec.Mounts = []container.Mount{{HostPath: t.TempDir(), ContainerPath: "/ro", ReadOnly: true, Propagation: "rprivate"}}
	if err := r.Prepare(t.Context(), spec, func(string) {}); err != nil {
		t.Fatal(err)
	}
	if err := r.Start(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Remove(context.WithoutCancel(t.Context()), spec.ID) })
	var got []string
	err := r.Logs(t.Context(), spec.ID, container.Position{}, func(lines []container.Line) error {
		for _, l := range lines {
			got = append(got, string(l.Text))
		}
		return nil
	})
	want := []string{"1234", "4321", "640", "1234", "8192", "0000000000080000", "character special file", "read-only"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

// testDefaultEnviron tests the variables that a task gets if neither image nor order sets them.
func testDefaultEnviron(t *testing.T, d *dockertest.Daemon, r *Runtime) {
	t.Helper()
	const own = "det-deploy-test:with-variables"
	made, err := d.API.ContainerCreate(t.Context(), client.ContainerCreateOptions{Image: dockertest.Image, Config: &engine.Config{Cmd: []string{"true"}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.API.ContainerCommit(t.Context(), made.ID, client.ContainerCommitOptions{
		Reference: own, Config: &engine.Config{Env: []string{"HOME=/of/image", "PYTHONUNBUFFERED="}},
	}); err != nil {
		t.Fatal(err)
	}
	linked, root := &container.User{UID: 1234, GID: 4321}, &container.User{}
	for _, c := range []struct {
		name, image, want string
		user              *container.User
		env               []string
	}{
		{"linked", dockertest.Image, "/run/determined/workdir 1", linked, nil},
		{"linked-asks", dockertest.Image, "/home/lea 0", linked, []string{"HOME=/home/lea", "PYTHONUNBUFFERED=0"}},
		{"linked-image", own, "/of/image ", linked, nil},
		{"root-image", own, "/of/image ", root, nil},
		{"asks-image", own, "/home/lea 1", linked, []string{"HOME=/home/lea", "PYTHONUNBUFFERED=1"}},
	} {
		spec := script("defaults-"+c.name, `echo "$HOME $PYTHONUNBUFFERED"`)
		spec.Image, spec.User, spec.WorkDir, spec.Env = c.image, c.user, "/run/determined/workdir", append(spec.Env, c.env...)
		if err := r.Start(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = r.Remove(context.WithoutCancel(t.Context()), spec.ID) })
		var got []string
		err := r.Logs(t.Context(), spec.ID, container.Position{}, func(lines []container.Line) error {
			for _, l := range lines {
				got = append(got, string(l.Text))
			}
			return nil
		})
		if err != nil || !slices.Equal(got, []string{c.want}) {
			t.Errorf("%s: got %q, %v, want %q", c.name, got, err, c.want)
		}
	}
}

// frame encodes a piece of output like the engine.
func frame(stream byte, text string) []byte {
	text = "2026-11-21T05:00:00.123456789Z " + text
	b := binary.BigEndian.AppendUint32([]byte{stream, 0, 0, 0}, uint32(len(text)))
	return append(b, text...)
}

func demuxed(data []byte, from container.Position) ([]string, error) {
	return readFrames(data, from, nil)
}

// readFrames reads a log to its end. It also appends all lines to all, if not nil.
func readFrames(data []byte, from container.Position, all *[]container.Line) (got []string, err error) {
	emit := func(lines []container.Line) error {
		if all != nil {
			*all = append(*all, lines...)
		}
		for _, l := range lines {
			got = append(got, fmt.Sprintf("%d %s %s", l.Next.Lines, l.Stream, l.Text))
		}
		return nil
	}
	d, err := readOn(demux{from: from, emit: emit, known: map[int64]bool{}}, false, func(d *demux, _ bool) error {
		return d.copyFrames(bufio.NewReader(bytes.NewReader(data)))
	})
	if err != nil {
		return got, err
	}
	return got, d.emitRest()
}

func TestFramesAreSplit(t *testing.T) {
	t.Parallel()
	data := slices.Concat(piece(1, 1, "a\n"), piece(1, 2, "long "), piece(2, 2, "err\n"), piece(1, 2, "line\n"), piece(2, 3, "rest"))
	want := []string{"1 stdout a", "2 stderr err", "3 stdout long line", "4 stderr rest"}
	for from := range want {
		got, err := demuxed(data, container.Position{Lines: uint64(from)})
		if err != nil || !slices.Equal(got, want[from:]) {
			t.Errorf("from %d: got %q, %v, want %q", from, got, err, want[from:])
		}
	}
	for name, broken := range map[string][]byte{
		"a frame cut short": data[:12], "an unknown stream": frame(3, "x"), "no time": {1, 0, 0, 0, 0, 0, 0, 1, 'x'},
	} {
		if _, err := demuxed(broken, container.Position{}); err == nil || errors.Is(err, container.ErrGone) {
			t.Errorf("%s: got %v, want an error", name, err)
		}
	}
}

func TestProgressIsWorthALine(t *testing.T) {
	t.Parallel()
	for in, want := range map[[2]string]string{
		{"abc", "Downloading"}: "", {"abc", "Pull complete"}: "abc: Pull complete", {"", "Status: done"}: "Status: done", {"", ""}: "",
	} {
		if got := pullProgress(in[0], in[1]); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// isBounded inspects the process from the machine.
func isBounded(t *testing.T, r *Runtime) {
	spec := script("bounded", "sleep 600")
	spec.Memory = 64 << 20
	if err := r.Start(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	c, err := r.api.ContainerInspect(t.Context(), containerName(spec.ID), client.ContainerInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.Container.State.Pid))
	if err != nil {
		t.Fatal(err)
	}
	// Bits 13 and 27 are NET_RAW and MKNOD.
	for _, want := range []string{"NoNewPrivs:\t1", "CapBnd:\t00000000a00405fb"} {
		if !strings.Contains(string(status), want) {
			t.Errorf("got %s, want %q", status, want)
		}
	}
	if got := c.Container.HostConfig.Memory; got != spec.Memory {
		t.Errorf("got a limit of %d bytes, want %d", got, spec.Memory)
	}
	if err := r.Remove(t.Context(), spec.ID); err != nil {
		t.Error(err)
	}
}

func TestContainersHaveLimits(t *testing.T) {
	t.Parallel()
	r := &Runtime{}
	for _, spec := range []container.Spec{{}, {Memory: 1 << 30, Processes: 100}} {
		o, err := r.createOptions(spec)
		if err != nil {
			t.Fatal(err)
		}
		var processes int64
		if p := o.HostConfig.PidsLimit; p != nil {
			processes = *p
		}
		if o.HostConfig.Memory != spec.Memory || processes != spec.Processes {
			t.Errorf("got %d bytes and %d processes, want %d and %d", o.HostConfig.Memory, processes, spec.Memory, spec.Processes)
		}
	}
	if err := missingLimits(system.Info{MemoryLimit: true, PidsLimit: true}); err != nil {
		t.Errorf("got %v, want nil", err)
	}
	if err := missingLimits(system.Info{MemoryLimit: true}); err == nil || !strings.Contains(err.Error(), "limit the processes of") {
		t.Errorf("got %v, want the missing limit", err)
	}
}

// entersWithoutRights enters a container whose user is not root.
func entersWithoutRights(t *testing.T, r *Runtime) {
	spec := script("entered", "sleep 600")
	spec.User = &container.User{UID: 1234, GID: 4321}
	spec.Env = append(spec.Env, "DET_SESSION_TOKEN=of-the-task")
	if err := r.Start(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Remove(context.WithoutCancel(t.Context()), spec.ID) })
	for text, want := range map[string]string{
		"id -u; id -g; echo $DET_SESSION_TOKEN":      "1234\n4321\nof-the-task\n",
		"grep NoNewPrivs /proc/self/status":          "NoNewPrivs:\t1\n",
		"grep -E 'Cap(Eff|Prm)' /proc/self/status":   "CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n",
		"ls /proc/self/fd":                           "0\n1\n2\n3\n", // the last is that of ls
		"touch /etc/new 2>/dev/null || echo refused": "refused\n",
	} {
		p, err := r.Exec(t.Context(), spec.ID, stream.Program{Argv: []string{"sh", "-c", text}})
		if err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = io.Copy(io.Discard, p.Stderr()) }()
		if got, err := io.ReadAll(p.Stdout()); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v, want %q", text, got, err, want)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	// The engine could write everywhere.
	if err := r.WriteFiles(t.Context(), spec.ID, "/etc", strings.NewReader("")); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v, want that the container's user may not write there", err)
	}
	if _, err := inside.DialThrough(t.Context(), r.execFor(spec.ID), 8080); !errors.Is(err, inside.ErrNoPython) {
		t.Errorf("got %v, want that there is no python3", err)
	}
}
