package pages_test

import (
	"fmt"
	"testing"

	"github.com/det-deploy/det-deploy/test/browser"
	"github.com/det-deploy/det-deploy/test/rest"
)

// row is a page and texts that it contains.
type row struct {
	path  string
	texts []string
}

// rows returns the pages. Each is opened with and without script, in two sizes and two themes.
func rows(l *lab) []row {
	return []row{
		{"/det/", []string{"Overview", "default", "training", "waiting job", "<img src=x onerror=alert(1)>"}},
		{"/det/tasks?state=open", []string{"New command", "queued"}},
		{"/det/tasks/new", []string{"Program", "Resource pool"}},
		{"/det/tasks/" + l.waiting, []string{"Last lines of the log", "Configuration"}},
		{"/det/tasks/" + l.waiting + "/kill", []string{"Its log stays."}},
		{"/det/tasks/" + l.waiting + "/logs", []string{"Download", "Scheduling"}},
		{"/det/interactive/" + l.waiting + "/", []string{"waits for its slots"}},
		{"/det/queue", []string{"queued", "running", "Set"}},
		{"/det/pools", []string{"default", "2.5 USD per hour", "of 2 slots in use"}},
		{"/det/pools/default", []string{"gpu-1", "Price of a slot"}},
		{"/det/machines/gpu-1", []string{"Drain", "Slots"}},
		{"/det/machines/gpu-1/disable", []string{"will be killed"}},
		{"/det/users?all=1", []string{"determined", "New user"}},
		{"/det/users/2", []string{"New password", "Sessions"}},
		{"/det/audit", []string{"login", "experiment.create"}},
		{"/det/account", []string{"Current password", "this session"}},
		{"/det/models", []string{"There are no models."}},
		{"/det/checkpoints", []string{"Checkpoints", "Filter"}},
		{"/det/workspaces", []string{"Uncategorized", "New workspace"}},
		{"/det/workspaces/1/projects", []string{"Projects"}},
		{"/det/projects/1", []string{"Experiments"}},
		{"/det/nothing", []string{"There is no page at /det/nothing."}},
	}
}

func TestPages(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a cluster; run without -short")
	}
	looks := rest.Choose([]look{{1280, "light"}, {360, "dark"}}, []look{{1280, "light"}, {1280, "dark"}, {360, "light"}, {360, "dark"}})
	l := openLab(t)
	b := browser.Open(t, l.URL)
	t.Run("the login", func(t *testing.T) { testLogin(t, b) })
	for _, r := range append(rows(l), experimentRows(l)...) {
		t.Run(r.path, func(t *testing.T) { testPage(t, b, r, looks) })
	}
	t.Run("tasks", func(t *testing.T) { testTasks(t, b) })
	t.Run("machines", func(t *testing.T) { testMachines(t, b) })
	t.Run("users", func(t *testing.T) { testUsers(t, b) })
	t.Run("live", func(t *testing.T) { testLive(t, l, b) })
	// A pause gives the slots to the waiting command, so that this is last.
	t.Run("experiments", func(t *testing.T) { testExperiments(t, l, b) })
}

// look is the width of a window and the theme of a visitor.
type look struct {
	width int64
	theme string
}

func testPage(t *testing.T, b *browser.Browser, r row, looks []look) {
	tb := b.Tab(t)
	if r.path == "/det/nothing" {
		tb.Expect("404")
	}
	for _, k := range looks {
		tb.Look(k.width, k.theme)
		tb.Visit(r.path)
		tb.Await(r.texts...)
		as := fmt.Sprintf("%s, %d pixels, %s", r.path, k.width, k.theme)
		tb.WantAccessible(as)
		tb.Keep(as)
	}
	tb.WithoutScript()
	tb.Visit(r.path)
	tb.Await(r.texts...)
}

func testLogin(t *testing.T, b *browser.Browser) {
	tb := b.Tab(t)
	tb.Expect("401")
	tb.Visit("/")
	if at := tb.Path(); at != "/det/login" {
		t.Fatalf("the address of the master leads to %s", at)
	}
	tb.WantAccessible("the login")
	tb.Submit("Log in", map[string]string{"username": "admin", "password": "wrong"})
	tb.Await("Invalid credentials")
	tb.WantAccessible("the login after an error")
	tb.Visit("/det/nothing?a=b")
	tb.WithoutScript()
	tb.Submit("Log in", map[string]string{"username": "admin", "password": "wrong"})
	tb.Await("Invalid credentials")
	tb.LogIn()
	tb.Submit("Log out", nil)
	tb.Await("Password")
	tb.Visit("/det/")
	if at := tb.Path(); at != "/det/login" {
		t.Fatalf("after the logout the overview leads to %s", at)
	}
	tb.LogIn()
}

// testLive kills the waiting command and waits until the overview shows that.
func testLive(t *testing.T, l *lab, b *browser.Browser) {
	tb := b.Tab(t)
	tb.Visit("/det/")
	tb.Await("1 waiting job")
	l.Run("task", "kill", l.waiting)
	tb.Await("0 waiting jobs")
}
