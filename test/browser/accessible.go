package browser

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/chromedp/chromedp"

	"github.com/det-deploy/det-deploy/test/installed"
)

// WantAccessible fails the test for each rule of axe-core that the page breaks, and if the page is wider than the
// window.
func (tb *Tab) WantAccessible(as string) {
	tb.t.Helper()
	axe, err := os.ReadFile(installed.File(tb.t, "axe-core", "axe-core", "axe.min.js"))
	if err != nil {
		tb.t.Fatal(err)
	}
	type violation struct {
		ID, Help string
		Nodes    []struct{ HTML, FailureSummary string }
	}
	for _, v := range Evaluate[[]violation](tb, string(axe)+`; axe.run({resultTypes: ["violations"]}).then(r => r.violations)`) {
		for _, n := range v.Nodes {
			tb.t.Errorf("%s: %s (%s): %s\n%s", as, v.Help, v.ID, n.HTML, n.FailureSummary)
		}
	}
	if wide := Evaluate[int](tb, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); wide > 0 {
		tb.t.Errorf("%s: the page is %d pixels wider than the window", as, wide)
	}
}

// Keep writes a picture of the page into the directory of the variable SCREENSHOTS, for a person.
func (tb *Tab) Keep(as string) {
	tb.t.Helper()
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
