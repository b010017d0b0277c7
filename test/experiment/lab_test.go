// Package experiment_test trains with the unmodified client and harness of Determined 0.38.1 on a
// real master and real agents: the examples of this project, on every runtime and with both
// databases.
package experiment_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/api/client"
	"github.com/det-deploy/det-deploy/test/clustertest"
	"github.com/det-deploy/det-deploy/test/dettest"
	"github.com/det-deploy/det-deploy/test/dockertest"
	"github.com/det-deploy/det-deploy/test/faultproxy"
	"github.com/det-deploy/det-deploy/test/installed"
)

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "python3" {
		os.Exit(runTiny()) //nolint:forbidigo // it is a main
	}
	os.Exit(clustertest.Tests{M: m}.Run()) //nolint:forbidigo // it is the main of the tests
}

// patience limits the wait for events that take seconds on an idle machine.
const patience = 5 * time.Minute

// lab is a cluster for training, with a logged-in researcher.
type lab struct {
	*clustertest.Cluster

	t   *testing.T
	det *dettest.Client
	// token is that of the researcher.
	token string
	// checkpoints is the storage directory of every experiment.
	checkpoints string
	// proxy is between programs and the master; nil without one.
	proxy *faultproxy.Proxy
}

// options are the differences between labs.
type options struct {
	master, agent string
	agents        int
	slots         int
	// docker runs trials in containers with an empty image: Python and the harness are mounted from
	// this machine, which only administrators may do.
	docker bool
	// proxied starts a proxy between programs and the master.
	proxied bool
	// prepare changes a cluster before it is started; it may be nil.
	prepare func(*clustertest.Cluster)
	// tiny replaces the programs of all trials by this test binary.
	tiny bool
	// mounts are added to the bind mounts of every task.
	mounts string
	// security is added to that section of master.yaml.
	security string
}

// openLab starts a cluster.
func openLab(t *testing.T, o options) *lab {
	t.Helper()
	home, err := filepath.EvalSymlinks(installed.Environment(t, "the harness", "harness", "python3"))
	if err != nil {
		t.Fatal(err)
	}
	storage := sharedDir(t)
	// Tasks have a private /tmp, which would hide this project if it is there.
	runtime, user, more, mounts, env := "process", "determined", "", []string{home}, []string(nil)
	if o.docker {
		runtime, user, env = "docker", "admin", []string{"DOCKER_HOST=" + dockertest.Start(t).Host}
		more = "  network_mode: host\n  image: " + dockertest.Image + "\n"
		mounts = append(mounts, "/usr", "/lib", "/lib64", "/etc/alternatives")
	}
	path := home + "/bin"
	if o.tiny {
		path = linkTiny(t)
		mounts = append(mounts, path)
	}
	more += "  bind_mounts:\n"
	for _, dir := range mounts {
		more += fmt.Sprintf("    - {host_path: %s, container_path: %s, read_only: true}\n", dir, dir)
	}
	between := listenBetween(t, &o)
	more += o.mounts
	c := clustertest.New(t, clustertest.Config{
		Master: fmt.Sprintf(`task_container_defaults:
  environment_variables: ["PATH=%s:/usr/local/bin:/usr/bin:/bin"]
%scheckpoint_storage:
  type: shared_fs
  host_path: %s
%s`, path, more, storage, o.master),
		Agent: fmt.Sprintf("container_runtime: %s\nartificial_slots: %d\n%s", runtime, max(o.slots, 1), o.agent),
		Env:   env, Security: o.security,
	})
	l := &lab{Cluster: c, t: t, checkpoints: storage}
	if between != nil {
		l.proxy = faultproxy.Listen(t, between, c.URL, &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}}, 0)
		l.proxy.Name = nameCall
	}
	if o.prepare != nil {
		o.prepare(c)
	}
	c.StartMaster()
	for i := range max(o.agents, 1) {
		c.StartAgent(fmt.Sprintf("agent-%d", i))
	}
	l.login(user)
	c.Eventually("the agents have joined", time.Minute, func() error {
		out, err := l.det.Exec("", "agent", "list", "--json")
		if err == nil && strings.Count(out, `"agent-`) < max(o.agents, 1) {
			return errors.New(out)
		}
		return err
	})
	return l
}

// listenBetween makes programs call a port of the test. It returns nil if they call the master
// directly.
func listenBetween(t *testing.T, o *options) net.Listener {
	t.Helper()
	if !o.proxied {
		return nil
	}
	between, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(between.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	o.agent += fmt.Sprintf("container_master_host: %s\ncontainer_master_port: %s\n", host, port)
	return between
}

// sharedDir returns a directory that the tasks of every user may write to.
func sharedDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "det-deploy-checkpoints-") //nolint:usetesting // t.TempDir is not accessible to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })   // a leftover temporary directory is harmless
	if err := os.Chmod(dir, 0o1777); err != nil { //nolint:gosec // see above
		t.Fatal(err)
	}
	return dir
}

// example returns a directory of docs/examples/experiments.
func example(name string) string { return installed.InProject("docs", "examples", "experiments", name) }

var created = regexp.MustCompile(`Created experiment (\d+)`)

// create creates an experiment of an example and returns its ID; settings have the form
// "searcher.max_trials=4".
func (l *lab) create(name, file string, settings ...string) string {
	l.t.Helper()
	return l.createIn(example(name), file, settings...)
}

// createIn is like create with another directory.
func (l *lab) createIn(dir, file string, settings ...string) string {
	l.t.Helper()
	args := []string{"experiment", "create", filepath.Join(dir, file), dir}
	for _, s := range settings {
		args = append(args, "--config", s)
	}
	out := l.det.OK("", args...)
	id := created.FindStringSubmatch(out)
	if id == nil {
		l.t.Fatalf("no experiment in %q", out)
	}
	return id[1]
}

// login logs in once: det, det-deploy and the tests' own calls share the session.
func (l *lab) login(user string) {
	l.t.Helper()
	master, err := client.New(client.Config{URL: l.URL})
	if err != nil {
		l.t.Fatal(err)
	}
	defer master.Close()
	reply, err := master.Login(l.t.Context(), user, clustertest.Password)
	if err != nil {
		l.t.Fatalf("log in as %s: %v", user, err)
	}
	l.token = reply.GetToken()
	l.det = dettest.Resume(l.t, l.URL, user, l.token)
	l.Env = append(l.Env, "DET_USER="+user, "DET_USER_TOKEN="+l.token)
}
