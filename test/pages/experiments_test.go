package pages_test

import (
	"testing"

	"github.com/det-deploy/det-deploy/test/browser"
)

// experimentRows returns the pages of experiments. The search is experiment 1 with trials 1 to 3.
func experimentRows(l *lab) []row {
	search, training := "/det/experiments/"+l.search, "/det/experiments/"+l.training
	trial := search + "/trials/1"
	const name = `"><img src=x onerror=alert(1)> search`
	return []row{
		{"/det/experiments", []string{name, "training", "validation_loss", "Compare the marked ones"}},
		{"/det/experiments?q=search&state=succeeded&sort=best", []string{name, "1–1 of 1"}},
		{search, []string{name, "slot-hours", "USD", "Archive", "Trials"}},
		{training, []string{"running", "Pause"}},
		{training + "/kill", []string{"Steps since the latest checkpoint are lost."}},
		{search + "/hyperparameters", []string{"Parallel coordinates", "3 trials of 3"}},
		{search + "/search", []string{"the search has ended", "Timeline, newest first"}},
		{search + "/configuration", []string{"max_trials: 3", "As submitted"}},
		{search + "/files", []string{"It was created without files."}},
		{search + "/fork", []string{"Configuration", "Check"}},
		{search + "/continue", []string{"Changes of its configuration"}},
		{search + "/edit", []string{"Description", "One in a line"}},
		{search + "/move", []string{"Uncategorized"}},
		{search + "/delete", []string{"3 trials with metrics, logs and history"}},
		{trial, []string{"Hyperparameters", "rate", "There are no checkpoints."}},
		{trial + "/logs", []string{"batch 10: loss", "Download"}},
		{trial + "/system", []string{"Reports of the profiler"}},
		{"/det/compare?ids=" + l.search + "," + l.training, []string{name, "Differences of the configurations", "searcher.name"}},
	}
}

// testExperiments does what the owner of experiments can do, with script and without.
func testExperiments(t *testing.T, l *lab, b *browser.Browser) {
	search, training := "/det/experiments/"+l.search, "/det/experiments/"+l.training
	t.Run("curves grow", func(t *testing.T) {
		tb := b.Tab(t)
		tb.Visit(training)
		tb.WaitUntil(`document.querySelector("figure.curves canvas") && document.querySelectorAll("figure.curves .legend li").length === 1`)
		before := browser.Evaluate[string](tb, `document.querySelector("#live").innerText`)
		tb.WaitUntil(`document.querySelector("#live").innerText !== ` + browser.Quote(before))
		tb.WaitUntil(`document.querySelector("figure.curves canvas") !== null`)
	})
	t.Run("pause and activate", func(t *testing.T) {
		tb := b.Tab(t)
		tb.Visit(training)
		tb.WaitUntil(`document.querySelector('#live input[name="csrf"]')?.value === ""`) // the block was refreshed
		tb.Submit("Pause", nil)
		tb.Await("The experiment pauses after a checkpoint.", "Activate")
		tb.Submit("Activate", nil)
		tb.Await("The experiment is active again.", "Pause")
	})
	t.Run("a fork is checked while it is written", func(t *testing.T) {
		tb := b.Tab(t)
		tb.Expect("422")
		tb.Visit(search + "/fork")
		browser.Evaluate[bool](tb, `(() => { const e = document.querySelector("#config"); e.value += "\nnonsense: 1\n"; return e.dispatchEvent(new Event("input", {bubbles: true})); })()`)
		tb.Await("nonsense: unknown key")
		tb.Submit("Create", nil)
		tb.WaitUntil(`document.querySelector("#config")?.defaultValue.includes("nonsense")`)
		tb.Await("nonsense: unknown key")
		tb.Submit("Create", map[string]string{"config": "name: forked\nentrypoint: python3 train.py\nsearcher: {name: single, metric: validation_loss}\nhyperparameters: {rate: 0.1, batches: 10, pause: 0}"})
		tb.Await("Forked from experiment "+l.search, "forked")
	})
	t.Run("archive and delete without script", func(t *testing.T) {
		id := l.create("training.yaml")
		tb := b.Tab(t)
		tb.WithoutScript()
		tb.Visit("/det/experiments/" + id + "/kill")
		tb.Submit("Kill the experiment", nil)
		tb.Await("The experiment was killed.")
		l.await("it has ended", func() error { return l.stateIs(id, "killed") })
		tb.Visit("/det/experiments/" + id)
		tb.Submit("Archive", nil)
		tb.Await("The experiment is archived.", "Unarchive")
		tb.Visit("/det/experiments/" + id + "/delete")
		tb.Submit("Delete experiment "+id, nil)
		tb.Await("Experiment " + id + " is being deleted")
	})
}
