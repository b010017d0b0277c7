// Package browser opens web pages in Chromium, fills their forms and presses their buttons, and checks whether
// they are accessible. Only tests may import it.
package browser

import (
	"context"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/det-deploy/det-deploy/test/installed"
)

// patience limits the wait for events that take seconds on an idle machine.
const patience = 3 * time.Minute

// Browser is Chromium, with the session of a visitor once they have logged in.
type Browser struct {
	site string
	ctx  context.Context //nolint:containedctx // it is the process
}

// Open starts Chromium for the pages of a site, such as http://127.0.0.1:8080. It skips the test if Chromium is not
// installed.
func Open(t *testing.T, site string) *Browser {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(installed.Program(t, "chromium")),
		chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()), chromedp.Flag("disable-popup-blocking", true))
	ctx, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, end := chromedp.NewContext(ctx)
	t.Cleanup(end)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start Chromium: %v", err)
	}
	return &Browser{site, ctx}
}

// Tab opens a tab.
func (b *Browser) Tab(t *testing.T) *Tab {
	t.Helper()
	return b.attach(t)
}

// attach opens a tab, or takes one that a page has opened.
func (b *Browser) attach(t *testing.T, of ...chromedp.ContextOption) *Tab {
	t.Helper()
	tb := &Tab{t: t, b: b}
	ctx, end := chromedp.NewContext(b.ctx, append(of, chromedp.WithListener(tb.note))...)
	t.Cleanup(end)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("open a tab: %v", err)
	}
	ctx, stop := context.WithTimeout(ctx, patience)
	t.Cleanup(stop)
	tb.ctx = ctx
	t.Cleanup(tb.wantNoProblems)
	tb.watch()
	return tb
}
