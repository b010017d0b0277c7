package server

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/test/golden"
)

// refusal is a request that is rejected. In path and body, $ is replaced by the ID of the trial and of its
// experiment, which are equal here, and TASK by the trial's task.
type refusal struct {
	// area and sent are for the reference page.
	area, sent string
	// by is the caller: user, admin, trial (the trial's own task), or other (another user).
	by           string
	method, path string
	body         string
	code         int
	// large rows are omitted from short tests.
	large bool
}

// submit returns the request that submits an experiment.
func submit(config string, files ...string) string {
	text, _ := json.Marshal(config) // strings can always be encoded
	return `{"config":` + string(text) + `,"activate":true,"modelDefinition":[` + strings.Join(files, ",") + `]}`
}

func sentFile(path string, kind int, rest string) string {
	return fmt.Sprintf(`{"path":%q,"type":%d,"mode":420%s}`, path, kind, rest)
}

// withLine returns the usual configuration with an additional line.
func withLine(line string) string { return submit(wholeConfig + line + "\n") }

// bombOf returns a YAML document of nested aliases, in which each level is n times the previous one.
func bombOf(levels, n int) string {
	var b strings.Builder
	b.WriteString("data:\n  l0: &l0 [x]\n")
	for i := 1; i <= levels; i++ {
		fmt.Fprintf(&b, "  l%d: &l%d [%s*l%d]\n", i, i, strings.Repeat(fmt.Sprintf("*l%d, ", i-1), n-1), i-1)
	}
	return b.String()
}

// manyOf returns n elements of a JSON list.
func manyOf(n int, element string) string {
	return strings.TrimSuffix(strings.Repeat(element+",", n), ",")
}

// reportOf returns a report of metrics of the trial.
func reportOf(steps, metrics string) string {
	return `{"group":"validation","metrics":{"trialId":$,"trialRunId":1,"stepsCompleted":` + steps + `,"metrics":{"avgMetrics":` + metrics + `}}}`
}

const (
	mebibyte    = 1 << 20
	experiments = "experiments"
	reports     = "trials/$/metrics"
)

func refusals() []refusal {
	long := strings.Repeat("x", 100_000)
	return []refusal{
		{"model definition", "a symbolic link", "user", post, experiments, submit(wholeConfig, sentFile("data", 50, "")), 400, false},
		{"model definition", "a hard link", "user", post, experiments, submit(wholeConfig, sentFile("data", 49, "")), 400, false},
		{"model definition", "a device", "user", post, experiments, submit(wholeConfig, sentFile("data", 51, "")), 400, false},
		{"model definition", "a name that leads out", "user", post, experiments, submit(wholeConfig, sentFile("../../etc/passwd", 48, "")), 400, false},
		{"model definition", "an absolute name", "user", post, experiments, submit(wholeConfig, sentFile("/etc/passwd", 48, "")), 400, false},
		{"model definition", "no name", "user", post, experiments, submit(wholeConfig, sentFile("", 48, "")), 400, false},
		{"model definition", "a name with a NUL", "user", post, experiments, submit(wholeConfig, strings.Replace(sentFile("aX", 48, ""), "X", `\u0000`, 1)), 400, false},
		{"model definition", "a name of 5,000 bytes", "user", post, experiments, submit(wholeConfig, sentFile(long[:5000], 48, "")), 400, false},
		{"model definition", "a file sent twice", "user", post, experiments, submit(wholeConfig, sentFile("a", 48, ""), sentFile("a", 48, "")), 400, false},
		{"model definition", "a file and a directory of one name", "user", post, experiments, submit(wholeConfig, sentFile("a", 48, ""), sentFile("a/b", 48, "")), 400, false},
		{"model definition", "content that is not base64", "user", post, experiments, submit(wholeConfig, sentFile("a", 48, `,"content":"%%"`)), 400, false},
		{"model definition", "more than 100,000 files", "user", post, experiments, submit(wholeConfig, manyOf(100_001, sentFile("a", 48, ""))), 400, true},
		{"model definition", "more than 112 MiB", "user", post, experiments, submit(wholeConfig, sentFile("a", 48, `,"content":"`+largeText()+`"`)), 400, true},
		{"model definition", "a file of an experiment that has none", "user", post, "experiments/$/file", `{"path":"../x"}`, 404, false},

		{"configuration", "nothing", "user", post, experiments, `{}`, 400, false},
		{"configuration", "not YAML", "user", post, experiments, submit("a: [b"), 400, false},
		{"configuration", "not a mapping", "user", post, experiments, submit("- a"), 400, false},
		{"configuration", "an alias of itself", "user", post, experiments, submit(wholeConfig + "data: &a {x: *a}\n"), 400, false},
		{"configuration", "aliases that are a thousand million values", "user", post, experiments, submit(wholeConfig + bombOf(9, 10)), 400, false},
		{"configuration", "lists in lists, 10,000 deep", "user", post, experiments, submit("data: " + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000)), 400, false},
		{"configuration", "a misspelled key", "user", post, experiments, withLine("max_restart: 1"), 400, false},
		{"configuration", "a key sent twice", "user", post, experiments, withLine("name: two"), 400, false},
		{"configuration", "a text where a number belongs", "user", post, experiments, withLine("max_restarts: many"), 400, false},
		{"configuration", "a negative number of restarts", "user", post, experiments, withLine("max_restarts: -1"), 400, false},
		{"configuration", "no entrypoint", "user", post, experiments, submit("searcher: {name: single, metric: loss}\n"), 400, false},
		{"configuration", "an unknown searcher", "user", post, experiments, submit("entrypoint: x\nsearcher: {name: bayes, metric: loss}\n"), 400, false},
		{"configuration", "a searcher at its end of life", "user", post, experiments, submit("entrypoint: x\nsearcher: {name: pbt, metric: loss}\n"), 400, false},
		{"configuration", "a search without a metric", "user", post, experiments, submit("entrypoint: x\nsearcher: {name: random, max_trials: 2}\n"), 400, false},
		{"configuration", "a million million trials", "user", post, experiments, submit("entrypoint: x\nsearcher: {name: random, metric: loss, max_trials: 1000000000000}\n"), 400, false},
		{"configuration", "a grid of 10^12 trials", "user", post, experiments, submit("entrypoint: x\nsearcher: {name: grid, metric: loss}\nhyperparameters: {a: {type: int, minval: 0, maxval: 1000000, count: 1000000}, b: {type: int, minval: 0, maxval: 1000000, count: 1000000}}\n"), 400, false},
		{"configuration", "a least value above the greatest", "user", post, experiments, submit("entrypoint: x\nsearcher: {name: random, metric: loss, max_trials: 2}\nhyperparameters: {a: {type: int, minval: 9, maxval: 0}}\n"), 400, false},
		{"configuration", "an infinite hyperparameter", "user", post, experiments, submit("entrypoint: x\nsearcher: {name: random, metric: loss, max_trials: 2}\nhyperparameters: {a: {type: double, minval: 0, maxval: .inf}}\n"), 400, false},
		{"configuration", "an infinite weight", "user", post, experiments, submit(strings.Replace(wholeConfig, "{slots_per_trial: 1}", "{weight: .inf}", 1)), 400, false},
		{"configuration", "a description of 100,000 bytes", "user", post, experiments, withLine("description: " + long), 400, false},
		{"configuration", "a label of 100,000 bytes", "user", post, experiments, withLine("labels: [" + long + "]"), 400, false},
		{"configuration", "10,000 labels", "user", post, experiments, withLine("labels: [" + labelsOf(10_000) + "]"), 400, false},
		{"configuration", "a checkpoint storage of an unknown kind", "user", post, experiments, withLine("checkpoint_storage: {type: ftp}"), 400, false},
		{"configuration", "a template that does not exist", "user", post, experiments, strings.Replace(withLine(""), `"activate"`, `"template":"none","activate"`, 1), 404, false},
		{"configuration", "a project that does not exist", "user", post, experiments, strings.Replace(withLine(""), `"activate"`, `"projectId":77,"activate"`, 1), 404, false},
		{"configuration", "a parent that does not exist", "user", post, experiments, strings.Replace(withLine(""), `"activate"`, `"parentId":77,"activate"`, 1), 404, false},
		{"configuration", "a source trial that does not exist", "user", post, experiments, submit(strings.Replace(wholeConfig, "metric: loss", "metric: loss, source_trial_id: 77", 1)), 404, false},
		{"configuration", "a source trial with the number 2^32+1", "user", post, experiments, submit(strings.Replace(wholeConfig, "metric: loss", "metric: loss, source_trial_id: 4294967297", 1)), 404, false},
		{"configuration", "a source checkpoint that does not exist", "user", post, experiments, submit(strings.Replace(wholeConfig, "metric: loss", "metric: loss, source_checkpoint_uuid: none", 1)), 404, false},

		{"metrics", "more than 8 MiB", "trial", post, reports, reportOf("1", `{"x":"`+strings.Repeat("x", 10*mebibyte)+`"}`), 413, false},
		{"metrics", "more than is kept for a step", "trial", post, reports, reportOf("1", `{"x":"`+strings.Repeat("x", 5*mebibyte)+`"}`), 400, false},
		{"metrics", "10,001 names", "trial", post, reports, reportOf("1", `{`+namesOf(10_001)+`}`), 400, false},
		{"metrics", "steps below zero", "trial", post, reports, reportOf("-1", `{"loss":1}`), 400, false},
		{"metrics", "half a step", "trial", post, reports, reportOf("1.5", `{"loss":1}`), 400, false},
		{"metrics", "a list of metrics", "trial", post, reports, reportOf("1", `[1]`), 400, false},
		{"metrics", "values nested 100 deep", "trial", post, reports, reportOf("1", `{"x":`+strings.Repeat("[", 90)+strings.Repeat("]", 90)+`}`), 400, false},
		{"metrics", "no group", "trial", post, reports, strings.Replace(reportOf("1", `{"loss":1}`), "validation", "", 1), 400, false},
		{"metrics", "a group of 10,000 bytes", "trial", post, reports, strings.Replace(reportOf("1", `{"loss":1}`), "validation", long[:10_000], 1), 400, false},
		{"metrics", "a group with a line break", "trial", post, reports, strings.Replace(reportOf("1", `{"loss":1}`), "validation", `a\nb`, 1), 400, false},
		{"metrics", "of another run", "trial", post, reports, strings.Replace(reportOf("1", `{"loss":1}`), `"trialRunId":1`, `"trialRunId":9`, 1), 400, false},
		{"metrics", "of a run below zero", "trial", post, reports, strings.Replace(reportOf("1", `{"loss":1}`), `"trialRunId":1`, `"trialRunId":-1`, 1), 400, false},
		{"metrics", "of another trial than the path's", "trial", post, reports, strings.Replace(reportOf("1", `{"loss":1}`), `"trialId":$`, `"trialId":9`, 1), 400, false},
		{"metrics", "of a trial that does not exist", "trial", post, "trials/77/metrics", strings.Replace(reportOf("1", `{"loss":1}`), `"trialId":$`, `"trialId":77`, 1), 404, false},
		{"metrics", "of another user's trial", "other", post, reports, reportOf("1", `{"loss":1}`), 403, false},
		{"metrics", "another value for the same step", "trial", post, reports, reportOf("5", `{"loss":2}`), 409, false},

		{"checkpoints", "a path in place of an id", "trial", post, "checkpoints", `{"uuid":"../../etc","taskId":"TASK","state":"STATE_COMPLETED"}`, 400, false},
		{"checkpoints", "a file that lies elsewhere", "trial", post, "checkpoints", checkpointWith(`"resources":{"../../etc/passwd":"4"}`), 400, false},
		{"checkpoints", "a file with an absolute name", "trial", post, "checkpoints", checkpointWith(`"resources":{"/etc/passwd":"4"}`), 400, false},
		{"checkpoints", "a file of less than nothing", "trial", post, "checkpoints", checkpointWith(`"resources":{"a":"-4"}`), 400, false},
		{"checkpoints", "metadata of 4 MiB", "trial", post, "checkpoints", checkpointWith(`"metadata":{"x":"` + strings.Repeat("x", 4*mebibyte) + `"}`), 400, false},
		{"checkpoints", "half a step", "trial", post, "checkpoints", checkpointWith(`"metadata":{"steps_completed":1.5}`), 400, false},
		{"checkpoints", "of a task that is no trial", "user", post, "checkpoints", strings.Replace(checkpointWith(`"metadata":{}`), "TASK", "none", 1), 400, false},
		{"checkpoints", "a storage that was not given to it", "trial", post, "checkpoints", checkpointWith(`"storageId":77`), 400, false},
		{"checkpoints", "one that is deleted already", "trial", post, "checkpoints", strings.Replace(checkpointWith(`"metadata":{}`), "COMPLETED", "DELETED", 1), 400, false},
		{"checkpoints", "metadata of a user of more than 1 MiB", "user", post, "checkpoints/" + checkpointA + "/metadata", `{"checkpoint":{"metadata":{"x":"` + strings.Repeat("x", mebibyte) + `"}}}`, 413, false},
		{"checkpoints", "files of one that does not exist", "trial", patch, "checkpoints", `{"checkpoints":[{"uuid":"` + checkpointB + `","resources":{"resources":{"a":"1"}}}]}`, 404, false},
		{"checkpoints", "the deletion of none", "user", del, "checkpoints", `{}`, 400, false},
		{"checkpoints", "the deletion of one that does not exist", "user", del, "checkpoints", `{"checkpointUuids":["` + checkpointB + `"]}`, 404, false},
		{"checkpoints", "the deletion of one that is in use", "user", del, "checkpoints", `{"checkpointUuids":["` + checkpointA + `"]}`, 400, false},
		{"checkpoints", "the deletion of another's", "other", del, "checkpoints", `{"checkpointUuids":["` + checkpointA + `"]}`, 403, false},

		{"requests", "an experiment that does not exist", "user", post, "experiments/77/pause", ``, 404, false},
		{"requests", "an experiment that is no number", "user", get, "experiments/x", ``, 404, false},
		{"requests", "an experiment with the number 2^32+1", "user", get, "experiments/4294967297", ``, 404, false},
		{"requests", "another user's experiment", "other", post, "experiments/$/kill", ``, 403, false},
		{"requests", "deleting a running experiment", "user", del, "experiments/$", ``, 400, false},
		{"requests", "archiving a running experiment", "user", post, "experiments/$/archive", ``, 400, false},
		{"requests", "continuing a running experiment", "user", post, "experiments/continue", `{"id":$}`, 400, false},
		{"requests", "moving to a project that does not exist", "user", post, "experiments/$/move", `{"destinationProjectId":77}`, 404, false},
		{"requests", "an empty name", "user", patch, "experiments/$", `{"name":""}`, 400, false},
		{"requests", "a name of 100,000 bytes", "user", patch, "experiments/$", `{"name":"` + long + `"}`, 400, false},
		{"requests", "a name with a line break", "user", patch, "experiments/$", `{"name":"a\nb"}`, 400, false},
		{"requests", "a description of 100,000 bytes", "user", patch, "experiments/$", `{"description":"` + long + `"}`, 400, false},
		{"requests", "notes of 100,000 bytes", "user", patch, "experiments/$", `{"notes":"` + long + `"}`, 400, false},
		{"requests", "a label of 100,000 bytes", "user", patch, "experiments/$", `{"labels":["` + long + `"]}`, 400, false},
		{"requests", "a label that is a number", "user", patch, "experiments/$", `{"labels":[1]}`, 400, false},
		{"requests", "10,000 labels", "user", patch, "experiments/$", `{"labels":[` + labelsOf(10_000) + `]}`, 400, false},
		{"requests", "a label of 1,000 bytes in a path", "user", put, "experiments/$/labels/" + long[:1000], ``, 400, false},
		{"requests", "an infinite weight", "user", patch, "experiments/$", `{"resources":{"weight":"Infinity"}}`, 400, false},
		{"requests", "a weight of zero", "user", patch, "experiments/$", `{"resources":{"weight":0}}`, 400, false},
		{"requests", "priority 0", "user", patch, "experiments/$", `{"resources":{"priority":0}}`, 400, false},
		{"requests", "half a slot", "user", patch, "experiments/$", `{"resources":{"maxSlots":0.5}}`, 400, false},
		{"requests", "keeping less than nothing", "user", patch, "experiments/$", `{"checkpointStorage":{"saveTrialBest":-1}}`, 400, false},
		{"requests", "logs kept for -2 days", "user", put, "experiments/$/retain_logs", `{"numDays":-2}`, 400, false},
		{"requests", "a trial that does not exist", "user", post, "trials/77/kill", ``, 404, false},
		{"requests", "progress beyond the end", "trial", post, "trials/$/progress", `{"progress":1.5}`, 400, false},
		{"requests", "metadata of a run of more than 1 MiB", "trial", post, "runs/$/metadata", `{"metadata":{"x":"` + strings.Repeat("x", mebibyte) + `"}}`, 413, false},
		{"requests", "a body that is not JSON", "user", patch, "experiments/$", `{`, 400, false},
		{"requests", "a body that is packed", "user", patch, "experiments/$", "\x1f\x8b\x08\x00\x00\x00\x00\x00", 400, false},
		{"requests", "half a million values", "user", patch, "experiments/$", `{"labels":[` + manyOf(500_000, "1") + `]}`, 400, false},
		{"requests", "a page before the beginning", "user", get, "experiments?limit=-1&offset=x", ``, 400, false},
	}
}

// largeText returns base64 that exceeds the limit, or "" in short tests.
func largeText() string {
	if testing.Short() {
		return ""
	}
	return strings.Repeat("A", 150*mebibyte)
}

func labelsOf(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"l%d",`, i)
	}
	return strings.TrimSuffix(b.String(), ",")
}

func namesOf(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"m%d":1,`, i)
	}
	return strings.TrimSuffix(b.String(), ",")
}

func checkpointWith(rest string) string {
	return `{"uuid":"` + checkpointB + `","taskId":"TASK","state":"STATE_COMPLETED",` + rest + `}`
}

const (
	refusalsPage  = "../../docs/reference/refusals.md"
	refusalsStart = "# Rejected requests"
)

// Every invalid request is rejected with an error that names the problem. The reference page lists the
// errors. Run with -update to rewrite it.
func TestErrorReferenceIsFresh(t *testing.T) {
	t.Parallel()
	w := newWhole(t)
	w.furnish(t)
	w.someUser(t, "ada")
	who := map[string]string{"user": w.user, "trial": w.trial, "admin": w.admin, "other": w.login(t, "ada")}
	fill := strings.NewReplacer("$", w.ids["trial"], "TASK", w.ids["task"])
	if rec := w.ask(t, post, prefix+fill.Replace(reports), w.trial, fill.Replace(reportOf("5", `{"loss":1}`))); rec.Code != 200 {
		t.Fatalf("got %d %s, want a report to be taken", rec.Code, rec.Body)
	}
	written, err := os.ReadFile(refusalsPage)
	if err != nil && !golden.Updating() {
		t.Fatal(err)
	}
	page := newRefusalsPage()
	for _, r := range refusals() {
		if r.large && testing.Short() {
			page.keep(r, string(written))
			continue
		}
		rec := w.ask(t, r.method, prefix+fill.Replace(r.path), who[r.by], fill.Replace(r.body))
		says := sentenceOf(rec.Body.Bytes())
		if rec.Code != r.code || says == "" || len(says) > 1000 {
			t.Errorf("%s, %s: got %d %.1000s, want %d and a sentence", r.area, r.sent, rec.Code, rec.Body, r.code)
		}
		page.add(r, strings.NewReplacer(w.ids["allocation"], "ALLOCATION", w.ids["task"], "TASK").Replace(says))
	}
	golden.Compare(t, refusalsPage, string(page.bytes()))
	if v, err := w.x.Get(w.experiment); err != nil || v.State != "ACTIVE" || v.Name != "one" || len(v.Labels) > 0 {
		t.Errorf("got %+v and %v, want the experiment as it was", v, err)
	}
}

// sentenceOf returns the message in an error response.
func sentenceOf(b []byte) string {
	var answer struct {
		Error struct {
			Error string `json:"error"`
		} `json:"error"`
	}
	if json.Unmarshal(b, &answer) != nil {
		return ""
	}
	return answer.Error.Error
}

// refusalPage builds the expected reference page.
type refusalPage struct {
	strings.Builder

	area string
}

func newRefusalsPage() *refusalPage {
	p := &refusalPage{}
	p.WriteString(refusalsStart + `

Generated by ` + "`go test ./master/server -run Refused -update`" + `, which sends each of these to a master. The master
stores nothing of a rejected request. Each response has a status code and a message, which quotes at most 64 characters of the
request's texts.
`)
	return p
}

func (p *refusalPage) add(r refusal, says string) {
	escape := strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace
	p.line(r, fmt.Sprintf("| %s | %d | %s |", r.sent, r.code, escape(says)))
}

// keep copies the row of a refusal that is not tested from the existing page.
func (p *refusalPage) keep(r refusal, page string) {
	at := strings.Index(page, "| "+r.sent+" | ")
	line, _, _ := strings.Cut(page[max(at, 0):], "\n")
	p.line(r, line)
}

func (p *refusalPage) line(r refusal, line string) {
	if p.area != r.area {
		p.area = r.area
		fmt.Fprintf(p, "\n## %s%s\n\n| request | status | error |\n|---|--:|---|\n", strings.ToUpper(r.area[:1]), r.area[1:])
	}
	p.WriteString(line + "\n")
}

func (p *refusalPage) bytes() []byte { return []byte(p.String()) }
