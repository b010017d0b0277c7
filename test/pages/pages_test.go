package pages_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

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
	b := openBrowser(t, l.URL)
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

func testPage(t *testing.T, b *browser, r row, looks []look) {
	tb := b.open(t)
	if r.path == "/det/nothing" {
		tb.expect("404")
	}
	for _, k := range looks {
		tb.look(k.width, k.theme)
		tb.visit(r.path)
		tb.await(r.texts...)
		as := fmt.Sprintf("%s, %d pixels, %s", r.path, k.width, k.theme)
		tb.wantAccessible(as)
		tb.keep(as)
	}
	tb.withoutScript()
	tb.visit(r.path)
	tb.await(r.texts...)
}

// keep writes a picture of the page into the directory of the variable SCREENSHOTS, for a person.
func (tb *tab) keep(as string) {
	dir := os.Getenv("SCREENSHOTS")
	if dir == "" {
		return
	}
	picture, err := chromedp.Run(tb.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		tb.t.Fatal(err)
	}
	name := strings.Trim(strings.NewReplacer("/", "_", ", ", "-", " ", "").Replace(as), "_") + ".png"
	if err := os.WriteFile(filepath.Join(dir, name), picture, 0o600); err != nil {
		tb.t.Error(err)
	}
}

func testLogin(t *testing.T, b *browser) {
	tb := b.open(t)
	tb.expect("401")
	tb.visit("/")
	if at := tb.path(); at != "/det/login" {
		t.Fatalf("the address of the master leads to %s", at)
	}
	tb.wantAccessible("the login")
	tb.submit("Log in", map[string]string{"username": "admin", "password": "wrong"})
	tb.await("Invalid credentials")
	tb.wantAccessible("the login after an error")
	tb.visit("/det/nothing?a=b")
	tb.withoutScript()
	tb.submit("Log in", map[string]string{"username": "admin", "password": "wrong"})
	tb.await("Invalid credentials")
	tb.logIn()
	tb.submit("Log out", nil)
	tb.await("Password")
	tb.visit("/det/")
	if at := tb.path(); at != "/det/login" {
		t.Fatalf("after the logout the overview leads to %s", at)
	}
	tb.logIn()
}

// testLive kills the waiting command and waits until the overview shows that.
func testLive(t *testing.T, l *lab, b *browser) {
	tb := b.open(t)
	tb.visit("/det/")
	tb.await("1 waiting job")
	l.Run("task", "kill", l.waiting)
	tb.await("0 waiting jobs")
}
