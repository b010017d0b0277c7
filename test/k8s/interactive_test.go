package k8s_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/test/dettest"
	"github.com/det-deploy/det-deploy/test/jupyter"
	"github.com/det-deploy/det-deploy/test/kubetest"
	"github.com/det-deploy/det-deploy/test/rest"
)

var taskID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// TestInteractiveTasksAsPods starts notebooks, TensorBoards and generic tasks with the unmodified client in
// pods of a real node, and enters tasks.
func TestInteractiveTasksAsPods(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	p := &person{t: t, c: kubetest.Start(t, kubetest.Options{Mode: kubetest.Node}), home: t.TempDir()}
	r := p.research()
	program := p.build("v1.0.0")
	p.installs(program, r)
	trained := r.trains()
	t.Run("notebook", func(t *testing.T) { r.on(t).usesNotebook() })
	t.Run("generic task", func(t *testing.T) { r.on(t).pausesGenericTask() })
	t.Run("entered", func(t *testing.T) { (&person{t: t, c: p.c.For(t), home: p.home}).enters(program) })
	t.Run("TensorBoard", func(t *testing.T) { r.on(t).seesCurves(trained) })
}

func (r *researcher) write(name, text string) string {
	r.t.Helper()
	path := filepath.Join(r.t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
	return path
}

// awaitListed waits until a list of the client contains words.
func (r *researcher) awaitListed(list []string, words string) {
	r.t.Helper()
	r.eventually(strings.Join(list, " ")+" shows "+words, func() error {
		if out := r.det.OK("", list...); !strings.Contains(out, words) {
			return errors.New(out)
		}
		return nil
	})
}

// usesNotebook runs a cell in JupyterLab. Only administrators may mount it from the node.
func (r *researcher) usesNotebook() {
	r.det = dettest.Login(r.t, r.url, "admin", password)
	config := r.write("notebook.yaml", jupyter.Settings(r.t))
	out := r.det.Want([]string{"notebook", "start", "--no-browser", "--config-file", config}, "is ready")
	page := jupyter.Open(r.t, jupyter.Address(r.t, out))
	page.Use()
	page.CheckSecrets()
	r.det.OK("", "notebook", "kill", taskID.FindString(out))
	r.awaitListed([]string{"notebook", "list"}, "killed by user admin") // although JupyterLab exits with 0
}

// pausesGenericTask pauses and resumes a task that runs in two pods.
func (r *researcher) pausesGenericTask() {
	config := r.write("task.yaml", `entrypoint: [sh, -c, "trap 'echo saved; exit 0' TERM; echo begun; while :; do sleep 0.1; done"]`+"\nresources: {slots: 2}\n")
	id := taskID.FindString(r.det.OK("", "task", "create", config))
	logged := func(words string, n int) {
		r.t.Helper()
		r.eventually(fmt.Sprintf("%d pods have printed %q", n, words), func() error {
			if out := r.det.OK("", "task", "logs", id); strings.Count(out, "|| "+words) < n {
				return errors.New(out)
			}
			return nil
		})
	}
	logged("begun", 2)
	r.det.OK("", "task", "pause", id)
	logged("saved", 2)
	r.awaitListed([]string{"task", "logs", id}, "is paused")
	r.det.OK("", "task", "unpause", id)
	logged("begun", 4)
	r.det.OK("", "task", "kill", id)
	r.awaitListed([]string{"task", "logs", id}, "killed: killed by user determined")
}

// trains creates an experiment whose trial reports a metric.
func (r *researcher) trains() (id string) {
	r.t.Helper()
	const program = "from determined import core\n\nwith core.init() as context:\n    context.train.report_training_metrics(1, {'loss': 0.25})\n"
	config := r.write("experiment.yaml", "name: curves\nentrypoint: python3 train.py\nsearcher: {name: single, metric: loss}\nmax_restarts: 0\n")
	return created.FindStringSubmatch(r.det.OK("", "experiment", "create", config, filepath.Dir(r.write("train.py", program))))[1]
}

// seesCurves reads the metrics of an experiment from its TensorBoard.
func (r *researcher) seesCurves(experiment string) {
	r.await(experiment, "COMPLETED")
	id := taskID.FindString(r.det.OK("", "tensorboard", "start", experiment, "--no-browser"))
	run := "experiment/" + experiment + "/trial/1"
	r.eventually("the TensorBoard has the run", func() error {
		var runs map[string]map[string]any
		if err := r.visit("/proxy/"+id+"/data/plugin/scalars/tags", &runs); err != nil {
			return err
		}
		if len(runs[run]) == 0 {
			return fmt.Errorf("got %v", runs)
		}
		return nil
	})
	r.det.OK("", "tensorboard", "kill", id)
	r.awaitListed([]string{"tensorboard", "list"}, "killed by user determined")
}

// visit decodes the response of a service of a task.
func (r *researcher) visit(path string, into any) error {
	q, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.url+path, nil)
	if err != nil {
		return err
	}
	q.Header.Set("Authorization", "Bearer "+r.token)
	res, err := http.DefaultClient.Do(q)
	if err != nil {
		return err
	}
	defer res.Body.Close() //nolint:errcheck // it was read
	if res.StatusCode != http.StatusOK {
		return errors.New(res.Status)
	}
	return json.NewDecoder(res.Body).Decode(into)
}

// enters runs programs in a pod, copies files, and reaches a port.
func (p *person) enters(program string) {
	id := p.starts(program, "--slots", "0", "--", "sh", "-c", "mkdir /tmp/www; exec busybox httpd -f -p 127.0.0.1:8080 -h /tmp/www")
	p.eventually("the task can be entered", time.Minute, func() error {
		_, err := p.types(program, "task", "exec", id, "--", "test", "-d", "/tmp/www")
		return err
	})
	out, code := p.runs(program, "given", "task", "exec", "-i", id, "--", "sh", "-c", `cat; echo " in $DET_TASK_ID"; exit 7`)
	if out != "given in "+id+"\n" || code != 7 {
		p.t.Errorf("got %q and exit code %d", out, code)
	}
	if _, code := p.runs(program, "", "task", "exec", id, "--", "nonexistent"); code != 127 {
		p.t.Errorf("got exit code %d for a program that does not exist", code)
	}
	file := filepath.Join(p.home, "page")
	if err := os.WriteFile(file, []byte("served"), 0o600); err != nil {
		p.t.Fatal(err)
	}
	p.does(program, "Copied 1 file", "task", "cp", file, id+":/tmp/www")
	p.does(program, "Copied 1 file", "task", "cp", id+":/tmp/www", filepath.Join(p.home, "back"))
	if text, err := os.ReadFile(filepath.Join(p.home, "back", "page")); string(text) != "served" {
		p.t.Errorf("got %q and %v of what was copied to the pod and back", text, err)
	}
	p.forwards(program, id)
	if out, code := p.runs(program, "counted", "task", "run", "--slots", "0", "-i", "--", "wc", "-c"); strings.TrimSpace(out) != "7" || code != 0 {
		p.t.Errorf("got %q and exit code %d of a task with an input", out, code)
	}
	p.does(program, "", "task", "kill", id)
}

// runs runs a command with an input, and returns its standard output and exit code.
func (p *person) runs(program, input string, args ...string) (out string, code int) {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), program, args...)
	cmd.Env = append([]string{"HOME=" + p.home}, p.env...)
	cmd.Stdin = strings.NewReader(input)
	b, err := cmd.Output()
	if exited, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(b), exited.ExitCode()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return string(b), 0
}

var forwarded = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// forwards reads a file of the server in a task through a forwarded port.
func (p *person) forwards(program, id string) {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), program, "task", "port-forward", id, ":8080")
	cmd.Env = append([]string{"HOME=" + p.home}, p.env...)
	pipe, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	line, _ := bufio.NewReader(pipe).ReadString('\n')
	res, err := http.Get("http://" + forwarded.FindString(line) + "/page")
	if err != nil {
		p.t.Fatalf("%v after %q", err, line)
	}
	defer res.Body.Close() //nolint:errcheck // it was read
	if b, err := io.ReadAll(res.Body); string(b) != "served" {
		p.t.Errorf("got %q and %v from the port", b, err)
	}
}
