package hostile_test

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// settleLimit limits the start of a world's own tasks.
const settleLimit = 5 * time.Minute

// talker prints its tokens to the log; the rest of the script follows.
const talker = `echo "TOKENS $DET_USER_TOKEN $DET_SESSION_TOKEN $DET_ALLOCATION_ID"; `

// victim is the script of alice's task: it has a secret in its environment, in a file of its
// context directory, and in files that only its user may read.
const victim = `umask 077; echo "$SECRET" >/tmp/hostile-$MARK; echo "$SECRET" >/dev/shm/hostile-$MARK; ` +
	`echo "the secret is $SECRET"; echo RUNNING; exec sleep 86399`

// waitingNotebook starts a notebook whose Python sleeps, because there is no JupyterLab here.
const waitingNotebook = `{"config": {"resources": {"slots": 0}, "environment": {"environment_variables": ["DET_PYTHON_EXECUTABLE=./python"]}}, ` +
	`"files": [{"path": "python", "type": 48, "mode": 493, "content": "IyEvYmluL3NoClsgIiQxIiA9IC1jIF0gfHwgZXhlYyBzbGVlcCAzNjAwCg=="}]}`

// settle creates the users of a world and their tasks.
func (w *world) settle(adminPassword string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), settleLimit)
	defer cancel()
	w.login(ctx, "admin", "admin", adminPassword)
	w.name("admin", w.idOf(ctx, "admin"))
	for _, name := range []string{"alice", "mallory", "carol", "dave", "eve", "frank", "grace"} {
		w.user(ctx, name)
	}
	w.name("user", w.names["alice"])
	w.name("username", "alice")
	w.belongings(ctx)
	w.experiments(ctx)
	w.victims(ctx)
	w.talkers(ctx)
	// A login of alice that may be ended.
	w.login(ctx, "alice-other", "alice", userPassword)
	var list struct {
		Sessions []struct {
			ID      string
			Current bool
		}
	}
	w.must(ctx, "alice-other", call{method: "GET", path: "/api/v1/users/{alice}/sessions"}, &list)
	for _, s := range list.Sessions {
		if s.Current {
			w.name("session", s.ID)
		}
	}
	// Accounts and sessions without access.
	w.must(ctx, "dave", call{method: "POST", path: "/api/v1/auth/logout"}, nil)
	w.must(ctx, "admin", call{method: "PATCH", path: "/api/v1/users/{carol}", body: `{"active": false}`}, nil)
}

// settleTasks starts alice's task only.
func (w *world) settleTasks() {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), settleLimit)
	defer cancel()
	w.victims(ctx)
}

func (w *world) idOf(ctx context.Context, by string) string {
	w.t.Helper()
	var me struct{ User struct{ ID int } }
	w.must(ctx, by, call{method: "GET", path: "/api/v1/me"}, &me)
	return fmt.Sprint(me.User.ID)
}

// victims starts the tasks that are attacked.
func (w *world) victims(ctx context.Context) {
	w.t.Helper()
	id, err := w.launch(ctx, "alice", task{
		script: victim, files: map[string]string{"secret-file.txt": w.secret + "\n"},
		config: map[string]any{
			"description": "victim",
			"environment": map[string]any{"environment_variables": []string{"SECRET=" + w.secret, "MARK=" + w.names["mark"]}, "proxy_ports": []any{map[string]any{"proxy_port": 8888}}},
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.line(ctx, "alice", id, "RUNNING"); err != nil {
		w.t.Fatal(err)
	}
	w.name("task", id)
	w.name("command", id)
	w.name("service", id)
	var made struct{ Shell struct{ ID string } }
	w.must(ctx, "alice", call{method: "POST", path: "/api/v1/shells", body: `{"config": {"resources": {"slots": 0}}}`}, &made)
	w.name("shell", made.Shell.ID)
	var notebook struct{ Notebook struct{ ID string } }
	w.must(ctx, "alice", call{method: "POST", path: "/api/v1/notebooks", body: waitingNotebook}, &notebook)
	w.name("notebook", notebook.Notebook.ID)
	var generic struct{ TaskID string }
	w.must(ctx, "alice", call{method: "POST", path: "/api/v1/generic-tasks", body: genericTask}, &generic)
	w.name("generic", generic.TaskID)
	var reply struct{ Command struct{ JobID string } }
	w.must(ctx, "alice", call{method: "GET", path: "/api/v1/commands/" + id}, &reply)
	w.name("job", reply.Command.JobID)
	var array struct{ ArrayID string }
	w.must(ctx, "alice", call{
		method: "POST", path: "/api/v1/commands",
		body: `{"config": {"entrypoint": ["sleep", "1000"], "resources": {"slots": 0}}, "array": {"size": 1}}`,
	}, &array)
	w.name("array", array.ArrayID)
	var sent struct{ ContextID string }
	w.must(ctx, "alice", call{method: "POST", path: "/api/v1/contexts", body: `{"files": [{"path": "empty", "type": 48}]}`}, &sent)
	w.name("context", sent.ContextID)
	w.name("kind", "users")
	allocation, container := w.placeOf(ctx, id)
	w.name("victim", allocation)
	w.name("container", container)
}

// genericTask is a request for a generic task that runs until it is killed.
const genericTask = `{"config": "entrypoint: sleep 1000\nresources: {slots: 0}"}`

// belongings creates a workspace, a project, a template and a model of alice.
func (w *world) belongings(ctx context.Context) {
	w.t.Helper()
	var made struct {
		Workspace, Model struct{ ID int }
		Project          struct {
			ID  int
			Key string
		}
	}
	mark := w.names["mark"]
	w.must(ctx, "alice", call{method: "POST", path: "/api/v1/workspaces", body: `{"name": "hers-` + mark + `"}`}, &made)
	w.name("workspace", fmt.Sprint(made.Workspace.ID))
	w.must(ctx, "alice", call{method: "POST", path: "/api/v1/workspaces/{workspace}/projects", body: `{"name": "hers"}`}, &made)
	w.name("project", fmt.Sprint(made.Project.ID))
	w.name("key", made.Project.Key)
	w.must(ctx, "alice", call{method: "POST", path: "/api/v1/workspaces", body: `{"name": "keys-` + mark + `", "checkpointStorageConfig": ` + keyed + `}`}, &made)
	w.name("keys", fmt.Sprint(made.Workspace.ID))
	w.must(ctx, "alice", call{method: "POST", path: "/api/v1/workspaces/{keys}/projects", body: `{"name": "keyed"}`}, &made)
	w.name("keys-project", fmt.Sprint(made.Project.ID))
	w.must(ctx, "alice", call{method: "POST", path: "/api/v1/workspaces", body: `{"name": "account-` + mark + `"}`}, &made)
	w.name("account", fmt.Sprint(made.Workspace.ID))
	w.must(ctx, "alice", call{method: "POST", path: "/api/v1/workspaces/{account}/projects", body: `{"name": "linked"}`}, &made)
	w.name("account-project", fmt.Sprint(made.Project.ID))
	w.must(ctx, "admin", call{method: "PATCH", path: "/api/v1/workspaces/{account}", body: `{"agentUserGroup": ` + linked + `}`}, nil)
	w.must(ctx, "alice", call{method: "POST", path: "/api/v1/models", body: `{"name": "hers-` + mark + `"}`}, &made)
	w.name("model", fmt.Sprint(made.Model.ID))
	w.name("template", "hers-"+mark)
	w.must(ctx, "alice", call{method: "POST", path: "/api/v1/templates/{template}", body: `{"config": {"environment": {"environment_variables": ["A=` + variable + `"]}}}`}, nil)
}

// placeOf returns the allocation of a running task and the first of its containers.
func (w *world) placeOf(ctx context.Context, id string) (allocation, container string) {
	w.t.Helper()
	var all struct {
		Summaries map[string]struct {
			TaskID    string
			Resources []struct{ ContainerID string }
		} `json:"allocationIdToSummary"`
	}
	w.must(ctx, "alice", call{method: "GET", path: "/api/v1/tasks"}, &all)
	for allocation, s := range all.Summaries {
		if s.TaskID == id && len(s.Resources) > 0 {
			return allocation, s.Resources[0].ContainerID
		}
	}
	w.t.Fatalf("task %s has no container", id)
	return "", ""
}

// talkers start tasks of several users, whose tokens an attacker has, and end some of them.
func (w *world) talkers(ctx context.Context) {
	w.t.Helper()
	for _, by := range []string{"alice", "mallory", "admin", "eve", "frank", "grace"} {
		// It ignores the preemption signal, so that it can be preempted again.
		id := w.talk(ctx, by, by, talker+"trap '' TERM; exec sleep 86400")
		w.name(by+"-task", id)
	}
	w.name("allocation", w.names["alice-allocation"])
	_, container := w.placeOf(ctx, w.names["alice-task"])
	w.name("resources", container)
	id := w.talk(ctx, "mallory", "ended", talker)
	if err := w.ended(ctx, "mallory", id); err != nil {
		w.t.Fatal(err)
	}
	w.name("ended-task", id)
}

// talk starts a task and stores its tokens under a name.
func (w *world) talk(ctx context.Context, by, as, script string) string {
	w.t.Helper()
	id, err := w.launch(ctx, by, task{script: script, config: resources("preemptible", true)})
	if err != nil {
		w.t.Fatal(err)
	}
	said, err := w.line(ctx, by, id, "TOKENS ")
	if err != nil {
		w.t.Fatal(err)
	}
	words := strings.Fields(said)
	if len(words) != 3 {
		w.t.Fatalf("the task of %s says %q, want two tokens and an allocation", by, said)
	}
	w.tokens[as+"-task"], w.tokens[as+"-allocation"] = words[0], words[1]
	w.name(as+"-allocation", words[2])
	return id
}
