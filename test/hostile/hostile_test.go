package hostile_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/test/clustertest"
	"github.com/det-deploy/det-deploy/test/dockertest"
	"github.com/det-deploy/det-deploy/test/rest"
)

// pools are the resource pools of a world: one for everyone, and one without a join token here.
const pools = "resource_pools:\n  - pool_name: default\n  - pool_name: guarded\n"

// TestProcess makes the attempts on the API, on the agents' link, and in tasks that are processes.
func TestProcess(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute; run without -short")
	}
	if os.Getuid() != 0 {
		missing(t, "agents keep tasks apart as root only; run the tests as root")
	}
	failures := gather(t)
	w := newLocal(failures, process, clustertest.Config{
		Security: "  visibility: private\n",
		Master:   pools + machinesPool + "task_policy: {" + limits + "}\n", Agent: "container_runtime: process\n", Env: []string{"AGENT_SECRET=hunter2"},
	})
	w.launchMachines()
	w.makeAll(anywhere, process)
}

// TestDocker makes the attempts in tasks that are containers of a Docker Engine.
func TestDocker(t *testing.T) {
	rest.Only(t)
	failures := gather(t)
	d := dockertest.Start(t)
	w := newLocal(failures, docker, clustertest.Config{
		Master: "task_container_defaults:\n  network_mode: none\n  image: " + dockertest.Image + "\n" + pools + "task_policy: {" + limits + ", images: [" + dockertest.Image + ", registry.example.com/team]}\n",
		Agent:  "container_runtime: docker\n", Env: []string{"DOCKER_HOST=" + d.Host, "AGENT_SECRET=hunter2"},
	})
	socket := d.Host[len("unix://"):]
	w.env["ENGINE"] = socket
	w.name("engine", socket)
	w.name("engine-dir", filepath.Dir(socket))
	image, err := d.API.ImageInspect(t.Context(), dockertest.Image)
	if err != nil {
		t.Fatal(err)
	}
	id := image.ID
	w.name("image", dockertest.Image)
	w.name("image-id", id)
	w.name("image-digits", strings.TrimPrefix(id, "sha256:"))
	w.name("image-few", strings.TrimPrefix(id, "sha256:")[:12])
	w.makeAll(docker)
}

// newLocal returns a world on this machine.
func newLocal(f *failures, at where, cfg clustertest.Config) *world {
	f.t.Helper()
	c := clustertest.New(f.t, cfg)
	w := newWorld(f, at, c.URL)
	w.cluster = c
	c.StartMaster()
	w.age()
	c.StartAgent("a", "--artificial-slots", "8")
	w.name("agent", "a")
	w.name("slot", "0")
	w.name("cluster", c.Dir)
	w.name("disk", "/dev/loop0")
	w.look()
	w.name("agent-pid", w.env["AGENT_PID"])
	if err := os.Symlink("agent-a", filepath.Join(c.Dir, "link")); err != nil {
		f.t.Fatal(err)
	}
	w.settle(clustertest.Password)
	w.enlist()
	return w
}

// attemptLimit limits one attempt. An attempt takes seconds, but test machines are busy.
const attemptLimit = 5 * time.Minute

// makeAll makes every attempt for some runtimes and runs the controls. The attempts of an
// administrator's task come late, and controls that end the world's own tasks last, because other
// attempts need them.
func (w *world) makeAll(at ...where) {
	w.t.Helper()
	var late []attempt
	var controls []*control
	for _, a := range attempts() {
		if !slices.Contains(at, a.where) {
			continue
		}
		if a.control != nil && !slices.ContainsFunc(controls, func(c *control) bool { return c.name == a.control.name }) {
			controls = append(controls, a.control)
		}
		if a.who == adminTask {
			late = append(late, a)
			continue
		}
		w.make(a)
	}
	controls = inOrder(controls)
	end := slices.IndexFunc(controls, isLast)
	if end < 0 {
		end = len(controls)
	}
	w.show(controls[:end])
	for _, a := range late {
		w.make(a)
	}
	w.show(controls[end:])
}

// show runs controls, which must all succeed.
func (w *world) show(controls []*control) {
	w.t.Helper()
	for _, c := range controls {
		ctx, cancel := context.WithTimeout(w.t.Context(), attemptLimit)
		if got := c.run(ctx, w); got.verdict != succeeded {
			w.failures.addf("%s: got %s, so the attempts at it show nothing: %s", c.name, got.verdict, got.why)
		}
		cancel()
	}
}

// make makes one attempt and compares its outcome with the list of open attempts.
func (w *world) make(a attempt) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), attemptLimit)
	defer cancel()
	got := a.try(ctx, w)
	by, isOpen := open[a.name]
	switch {
	case got.verdict == untried:
		w.failures.addf("%s: could not be tried: %s", a.name, got.why)
	case got.verdict == succeeded && !isOpen:
		w.failures.addf("%s: SUCCEEDED: %s", a.name, got.why)
	case got.verdict == refused && isOpen:
		w.failures.addf("%s: is refused now; take it off the list of open attempts (%s): %s", a.name, by, got.why)
	}
}

// position returns the index of a control's request in requests, or -1 for other controls.
func position(c *control) int {
	return slices.IndexFunc(requests, func(r request) bool { return r.id == c.name })
}

func isLast(c *control) bool { return position(c) >= 0 && requests[position(c)].last }

// inOrder moves the controls that are requests to the end, in the order of requests, in which each
// can be carried out.
func inOrder(controls []*control) []*control {
	slices.SortStableFunc(controls, func(a, b *control) int { return position(a) - position(b) })
	return controls
}

// missing skips the test, or fails it if CI=true, because this machine lacks something.
func missing(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip(why)
}
