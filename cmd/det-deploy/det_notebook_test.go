package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/test/dettest"
	"github.com/det-deploy/det-deploy/test/jupyter"
	"github.com/det-deploy/det-deploy/test/rest"
)

var interactiveAddress = regexp.MustCompile(`http://\S+/det/interactive/\S+?currentSlotsExceeded=false`)

// TestNotebooksOfTheDetClient uses a real JupyterLab as a browser does.
func TestNotebooksOfTheDetClient(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	config := filepath.Join(t.TempDir(), "notebook.yaml")
	text := jupyter.Settings(t) + "idle_timeout: 10\nnotebook_idle_type: kernel_connections\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := newCluster(t, clusterConfig{Agent: "container_runtime: process\ntrust_users: true\nartificial_slots: 1\n"})
	c.StartMaster()
	c.StartAgent("a")
	admin := dettest.Login(t, c.URL, "admin", password)
	out := admin.Want([]string{"notebook", "start", "--no-browser", "--config-file", config}, "is ready", "/det/interactive/")
	id := taskID.FindString(out)
	p := jupyter.Open(t, jupyter.Address(t, out))
	jupyter.Open(t, interactiveAddress.FindString(out))
	p.Use()
	p.CheckSecrets()
	strangersStayOutside(t, c, id)

	c.Eventually("the notebook is ended, because its page is closed", 2*time.Minute, func() error {
		if out := admin.OK("", "notebook", "list"); !strings.Contains(out, "ended after 10s without use (idle_timeout)") {
			return fmt.Errorf("it is not: %s", out)
		}
		return nil
	})
	admin.Want([]string{"notebook", "logs", id}, "Service of JupyterLab", "Nobody uses this notebook: it will be ended in 5s", "all its files are lost when it ends")

	c.Login()
	config = filepath.Join(t.TempDir(), "forever.yaml")
	if err := os.WriteFile(config, []byte(jupyter.Settings(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	second := taskID.FindString(admin.OK("", "notebook", "start", "--detach", "--config-file", config))
	c.Eventually("another notebook is ready", time.Minute, func() error {
		if out := admin.OK("", "notebook", "logs", second); !strings.Contains(out, "Service of JupyterLab") {
			return fmt.Errorf("it is not: %s", out)
		}
		return nil
	})
	if out := c.Run("task", "list"); !strings.Contains(out, second) {
		t.Errorf("got %s, want the notebook", out)
	}
	jupyter.Open(t, strings.TrimSpace(c.Run("task", "open", second)))
	c.Run("task", "kill", second)
	c.Eventually("the notebook is killed", time.Minute, func() error {
		if out := admin.OK("", "notebook", "list"); !strings.Contains(out, "killed by user admin") {
			return fmt.Errorf("it is not: %s", out)
		}
		return nil
	})

	bare := taskID.FindString(admin.OK("", "notebook", "start", "--detach", "--config", "resources.slots=0"))
	c.Eventually("a notebook without JupyterLab ends", time.Minute, func() error {
		if out := admin.OK("", "notebook", "logs", bare); !strings.Contains(out, "JupyterLab is not installed here") || strings.Contains(out, "Traceback") {
			return fmt.Errorf("it does not: %s", out)
		}
		return nil
	})
}

// strangersStayOutside checks that other users cannot visit a notebook.
func strangersStayOutside(t *testing.T, c *cluster, id string) {
	t.Helper()
	other := &rawAPI{t: t, url: c.URL}
	var session struct{ Token string }
	if err := json.Unmarshal(other.retry("POST", "/api/v1/auth/login", `{"username":"determined","password":"`+password+`"}`), &session); err != nil {
		t.Fatal(err)
	}
	other.token = session.Token
	if _, err := other.do("GET", "/proxy/"+id+"/api/status", ""); err == nil || !strings.Contains(err.Error(), "is for the owner of its task") {
		t.Errorf("got %v for another user, want a refusal", err)
	}
	shown, err := other.do("GET", "/api/v1/notebooks/"+id, "")
	if err != nil || strings.Contains(string(shown), "token") || strings.Contains(string(shown), "PATH=") {
		t.Errorf("got %s and %v, want neither a ticket nor the configuration", shown, err)
	}
}
