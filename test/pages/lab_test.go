// Package pages_test opens the web pages of a real cluster in Chromium: their texts, their behavior with
// and without script, and whether they are accessible.
package pages_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/test/clustertest"
)

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "python3" {
		os.Exit(runTrainer()) //nolint:forbidigo // it is a main
	}
	os.Exit(clustertest.Tests{M: m}.Run()) //nolint:forbidigo // it is the main of the tests
}

// patience limits the wait for events that take seconds on an idle machine.
const patience = 3 * time.Minute

// oddName is a name with quotes, markup and text in the other direction.
const oddName = `"><img src=x onerror=alert(1)> שלום`

// lab is a cluster with two slots, a search that has ended, an experiment that trains, and a command that
// waits.
type lab struct {
	*clustertest.Cluster

	// search and training are the IDs of the experiments, and waiting that of the command.
	search, training, waiting string
}

func openLab(t *testing.T) *lab {
	t.Helper()
	programs := linkTrainer(t)
	c := clustertest.New(t, clustertest.Config{
		Master: "cluster_name: lab\ntask_container_defaults:\n  environment_variables: [\"PATH=" + programs + ":/usr/bin:/bin\"]\n" +
			"  bind_mounts: [{host_path: " + programs + ", container_path: " + programs + ", read_only: true}]\n" +
			"checkpoint_storage: {type: shared_fs, host_path: " + sharedDir(t) + "}\n" +
			"resource_pools: [{pool_name: default, slot_price: {per_hour: 2.5, currency: USD}}]\n",
		Agent: "container_runtime: process\nartificial_slots: 2\n",
	})
	c.StartMaster()
	c.StartAgent("gpu-1")
	c.Login()
	l := &lab{Cluster: c}
	l.search = l.create("search.yaml")
	l.await("the search has ended", func() error { return l.stateIs(l.search, "succeeded") })
	l.training = l.create("training.yaml")
	l.await("the experiment trains", func() error { return l.stateIs(l.training, "running") })
	l.waiting = strings.TrimSpace(l.Run("task", "run", "--detach", "--slots", "2", "--name", oddName, "--", "true"))
	return l
}

func (l *lab) await(what string, check func() error) {
	l.T.Helper()
	l.Eventually(what, patience, check)
}

// create creates an experiment of a file in testdata.
func (l *lab) create(file string) string {
	l.T.Helper()
	return strings.TrimSpace(l.Run("experiment", "create", filepath.Join("testdata", file)))
}

// stateIs returns an error unless an experiment has a state.
func (l *lab) stateIs(id, state string) error {
	out := strings.TrimSpace(l.Run("experiment", "describe", id, "--output", "jsonpath={.state}"))
	if out != state {
		return errors.New(out)
	}
	return nil
}

// sharedDir returns a directory that the tasks of every user may write to.
func sharedDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "det-deploy-pages-") //nolint:usetesting // t.TempDir is not accessible to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })   // a leftover temporary directory is harmless
	if err := os.Chmod(dir, 0o1777); err != nil { //nolint:gosec // see above
		t.Fatal(err)
	}
	return dir
}

// linkTrainer copies the test binary to a directory as python3.
func linkTrainer(t *testing.T) (dir string) {
	t.Helper()
	dir = sharedDir(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	from, err := os.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()                                                                              //nolint:errcheck // it was read
	to, err := os.OpenFile(filepath.Join(dir, "python3"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755) //nolint:gosec // tasks run it
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(to, from); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}
