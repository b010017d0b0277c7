package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/test/dockertest"
	"github.com/det-deploy/det-deploy/test/postgrestest"
	"github.com/det-deploy/det-deploy/test/rest"
)

// TestCrash kills the master and its agent repeatedly while tasks run. Each acknowledged task must
// end exactly once, with its exit code and all its log lines, each once and in order.
func TestCrash(t *testing.T) {
	tests := []struct {
		name             string
		docker, postgres bool
		tasks, array     int
		agent            string
	}{
		{name: "processes and SQLite", tasks: stormTasks(30, 80), array: stormTasks(10, 30), agent: "task_users: \"\"\n"}, // without isolation, unlike the others
		{name: "Docker and PostgreSQL", docker: true, postgres: true, tasks: stormTasks(0, 40)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if testing.Short() {
				t.Skip("takes a minute; run without -short")
			}
			if tt.docker || tt.postgres {
				rest.Only(t)
			}
			cfg := clusterConfig{
				Agent: plainAgent + tt.agent, // the flag below sets the slots
			}
			if tt.docker {
				docker := dockertest.Start(t)
				cfg.Agent = "container_runtime: docker\n"
				cfg.Env = []string{"DOCKER_HOST=" + docker.Host}
				cfg.Master = "task_container_defaults:\n  network_mode: none\n  image: " + dockertest.Image + "\n"
			}
			if tt.postgres {
				cfg.Master += "db:\n  url: " + postgrestest.Start(t, postgrestest.Options{}).URL() + "\n"
			}
			storm{cluster: cfg, tasks: tt.tasks, array: tt.array}.run(t)
		})
	}
}

// stormTasks returns the number of tasks in a storm: ordinary in make test, inRest in make test-rest, or
// the value of DET_CRASH_TASKS, which `make faults` sets to 200. A container costs about a second of a core.
func stormTasks(ordinary, inRest int) int {
	if n, err := strconv.Atoi(os.Getenv("DET_CRASH_TASKS")); err == nil && n > 0 {
		return n
	}
	return rest.Choose(ordinary, inRest)
}

// lines is the number of lines that each task of the crash test prints.
const lines = 25

// storm launches tasks while the master and the agent are killed.
type storm struct {
	cluster clusterConfig
	tasks   int
	// array is the size of one array that is launched in addition.
	array int
	// config is added to the configuration of every task; script replaces its program.
	config map[string]any
	script func(i int) string
	// prepare changes a cluster before it is started, and returns flags of agent a.
	prepare func(c *cluster) []string
	// beside starts other processes of the storm after the master and agent a.
	beside func(c *cluster)
	// fault injects faults until stop is closed.
	fault func(c *cluster, stop <-chan struct{}, random *rand.Rand)
	// pace limits the interval between kills; 0 means 700 ms.
	pace time.Duration
	// after is called when all tasks have ended and nothing is killed any more, before the tasks
	// are checked.
	after func(c *cluster, api *rawAPI)
	// check checks one ended task; nil means checkTask.
	check func(t *testing.T, api *rawAPI, i int, id string)
}

func (s storm) run(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	c := newCluster(t, s.cluster)
	flags := []string{"--artificial-slots", "8"}
	if s.prepare != nil {
		flags = append(flags, s.prepare(c)...)
	}
	c.StartMaster()
	c.StartAgent("a", flags...)
	if s.beside != nil {
		s.beside(c)
	}
	api := &rawAPI{t: t, url: c.URL, config: s.config, script: s.script}

	stop := make(chan struct{})
	calm := sync.OnceFunc(func() { close(stop) })
	defer time.AfterFunc(stormTime+time.Duration(s.tasks)*time.Second, calm).Stop()
	var faults sync.WaitGroup
	var kills int
	faults.Go(func() {
		kills = c.KillAgainAndAgain(stop, rand.New(rand.NewPCG(seed, 0)), cmp.Or(s.pace, 700*time.Millisecond), "a")
	})
	if s.fault != nil {
		faults.Go(func() { s.fault(c, stop, rand.New(rand.NewPCG(seed, 1))) })
	}
	ids := make([]string, s.tasks)
	for i := range ids {
		ids[i] = api.launch(i)
	}
	if s.array > 0 {
		ids = append(ids, api.launchArray(s.tasks, s.array)...)
	}
	err := waitAll(api, ids)
	calm()
	faults.Wait()
	if err != nil {
		t.Fatal(err)
	}
	c.awaitCalm(api)
	if s.after != nil {
		s.after(c, api)
	}
	check := s.check
	if check == nil {
		check = checkTask
	}
	for i, id := range ids {
		check(t, api, i, id)
	}
	t.Logf("%d tasks, %d kills", s.tasks, kills)
}

// awaitCalm waits until the successor of the last killed master answers.
func (c *cluster) awaitCalm(api *rawAPI) {
	c.T.Helper()
	c.Eventually("the master answers once more", time.Minute, func() error { _, err := api.get("/api/v1/me"); return err })
}

// stormTime and a second for each task limit a storm. On a busy machine processes may be killed too
// often to make progress; then all tasks must end in the calm after the storm.
const stormTime = 90 * time.Second

// endPatience limits the wait for the next task to end after all before it have ended, so that it
// depends neither on the number of tasks nor much on the load of the machine.
const endPatience = 5 * time.Minute

func waitAll(api *rawAPI, ids []string) error {
	for _, id := range ids {
		for deadline := time.Now().Add(endPatience); ; {
			cmd, err := api.command(id)
			if err == nil && cmd.State == "STATE_TERMINATED" {
				break
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("task %s does not end: %+v, %w", id, cmd, err)
			}
			<-time.After(50 * time.Millisecond)
		}
	}
	return nil
}

// checkTask checks a task that may run only once.
func checkTask(t *testing.T, api *rawAPI, i int, id string) {
	t.Helper()
	ends := 0
	for _, l := range checkRuns(t, api, i, id) {
		if strings.Contains(l, "resources exited successfully") || strings.Contains(l, "resources failed with non-zero") {
			ends++
		}
	}
	if ends != 1 {
		t.Errorf("task %d (%s): got %d ends, want 1", i, id, ends)
	}
}

// checkRuns checks a task that may have run several times, and returns its log: the task ended with
// its exit code, the lines of each run are in order, each once, and the last run has all. The lines
// of a task that may run only once have no run name.
func checkRuns(t *testing.T, api *rawAPI, i int, id string) []string {
	t.Helper()
	cmd, err := api.command(id)
	if err != nil {
		t.Fatal(err)
	}
	if cmd.ExitCode == nil || *cmd.ExitCode != code(i) {
		t.Errorf("task %d (%s): got exit code %v (%s), want %d", i, id, str(cmd.ExitCode), cmd.ExitStatus, code(i))
	}
	all := api.logs(id)
	got, last := map[string]int{}, ""
	for _, l := range all {
		run, number, found := strings.Cut(l, "line ")
		if !found || run != "" && !strings.HasPrefix(run, id+".") {
			continue
		}
		if last = run; number != strconv.Itoa(got[run]) {
			t.Errorf("task %d (%s): got %q of run %q, want line %d:\n%s", i, id, l, run, got[run], strings.Join(all, "\n"))
			return all
		}
		got[run]++
	}
	if got[last] != lines {
		t.Errorf("task %d (%s): got %d lines of its last run, want %d", i, id, got[last], lines)
	}
	return all
}

func code(i int) int { return i % 5 }

func str(p *int) string {
	if p == nil {
		return "none"
	}
	return strconv.Itoa(*p)
}

// rawAPI is a client of a master that may be killed at any time.
type rawAPI struct {
	t     *testing.T
	url   string
	token string
	// config is added to launched tasks; script replaces their program.
	config map[string]any
	script func(i int) string
}

type rawCommand struct {
	State      string
	ExitStatus string
	ExitCode   *int
}

func (a *rawAPI) do(method, path, body string) ([]byte, error) {
	req, err := http.NewRequestWithContext(a.t.Context(), method, a.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if a.token != "" {
		req.Header.Set("Authorization", "Bearer "+a.token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, b)
	}
	return b, err
}

// retry repeats a call while the master may be down.
func (a *rawAPI) retry(method, path, body string) []byte {
	a.t.Helper()
	var last error
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); <-time.After(50 * time.Millisecond) {
		if a.token == "" && path != "/api/v1/auth/login" {
			var login struct{ Token string }
			b := a.retry("POST", "/api/v1/auth/login", `{"username":"admin","password":"`+password+`"}`)
			if err := json.Unmarshal(b, &login); err != nil {
				a.t.Fatal(err)
			}
			a.token = login.Token
		}
		b, err := a.do(method, path, body)
		if err == nil {
			return b
		}
		last = err
	}
	a.t.Fatalf("no answer for two minutes: %v", last)
	return nil
}

func (a *rawAPI) get(path string) ([]byte, error) { return a.do("GET", path, "") }

func (a *rawAPI) launch(i int) string {
	a.t.Helper()
	script := func(i int) string { return printing(strconv.Itoa(code(i))) }
	if a.script != nil {
		script = a.script
	}
	config := map[string]any{
		"entrypoint": []string{script(i)},
		// A task with more slots may be split over agents, and then runs more than once.
		"resources": map[string]any{"slots": i % 2},
	}
	maps.Copy(config, a.config)
	body, _ := json.Marshal(map[string]any{"requestId": fmt.Sprintf("%s-%d", a.t.Name(), i), "config": config})
	var reply struct{ Command struct{ ID string } }
	if err := json.Unmarshal(a.retry("POST", "/api/v1/commands", string(body)), &reply); err != nil {
		a.t.Fatal(err)
	}
	return reply.Command.ID
}

// printing returns a program that prints lines and exits with a code, which is a shell expression.
func printing(code string) string {
	return fmt.Sprintf(`i=0; while [ $i -lt %d ]; do echo line $i; i=$((i+1)); `+
		`[ $((i %% 9)) = 0 ] && sleep 0.1; done; exit %s`, lines, code)
}

// launchArray launches an array with one call, numbered from first.
func (a *rawAPI) launchArray(first, size int) []string {
	a.t.Helper()
	body, _ := json.Marshal(map[string]any{
		"requestId": a.t.Name() + "-array", "array": map[string]any{"first": first, "size": size},
		"config": map[string]any{"entrypoint": []string{printing("$((DET_TASK_ARRAY_INDEX % 5))")}, "resources": map[string]any{"slots": 1}},
	})
	var made struct{ ArrayID string }
	if err := json.Unmarshal(a.retry("POST", "/api/v1/commands", string(body)), &made); err != nil {
		a.t.Fatal(err)
	}
	var list struct{ Commands []struct{ ID string } }
	if err := json.Unmarshal(a.retry("GET", "/api/v1/task-arrays/"+made.ArrayID, ""), &list); err != nil {
		a.t.Fatal(err)
	}
	if len(list.Commands) != size {
		a.t.Fatalf("got %d tasks of the array, want %d", len(list.Commands), size)
	}
	var ids []string
	for _, c := range list.Commands {
		ids = append(ids, c.ID)
	}
	return ids
}

func (a *rawAPI) command(id string) (rawCommand, error) {
	var reply struct{ Command rawCommand }
	b, err := a.get("/api/v1/commands/" + id)
	if err == nil {
		err = json.Unmarshal(b, &reply)
	}
	return reply.Command, err
}

// logs returns the lines of a task's log, without the prefix.
func (a *rawAPI) logs(id string) []string {
	a.t.Helper()
	var all []string
	scan := bufio.NewScanner(bytes.NewReader(a.retry("GET", "/api/v1/tasks/"+id+"/logs", "")))
	for scan.Scan() {
		var l struct{ Result struct{ Log string } }
		if err := json.Unmarshal(scan.Bytes(), &l); err != nil {
			a.t.Fatalf("%v in %q", err, scan.Text())
		}
		all = append(all, strings.TrimSuffix(l.Result.Log, "\n"))
	}
	return all
}
