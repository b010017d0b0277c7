// Package monitoring_test checks the examples of docs/monitoring.md with promtool and against the
// metrics that a master exports.
package monitoring_test

import (
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

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/det-deploy/det-deploy/k8s/pods"
	"github.com/det-deploy/det-deploy/k8s/pods/records"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/test/clustertest"
	"github.com/det-deploy/det-deploy/test/installed"
)

const examples = "../../docs/examples/monitoring"

func TestMain(m *testing.M) { os.Exit(clustertest.Tests{M: m}.Run()) } //nolint:forbidigo // the end of the program

func TestPromtoolAcceptsTheExamples(t *testing.T) {
	t.Parallel()
	promtool := installed.Program(t, "promtool")
	queries := filepath.Join(t.TempDir(), "queries.yml")
	if err := os.WriteFile(queries, rulesOf(t, dashboardQueries(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"check", "config", filepath.Join(examples, "prometheus.yml")},
		{"check", "rules", filepath.Join(examples, "rules.yml")},
		{"check", "rules", queries},
	} {
		if out, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: got %v, want nil\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// rulesOf returns a file of rules with the queries, the only form in which promtool checks them.
func rulesOf(t *testing.T, queries []string) []byte {
	t.Helper()
	type rule struct {
		Record string `json:"record"`
		Expr   string `json:"expr"`
	}
	var rules []rule
	for i, q := range queries {
		rules = append(rules, rule{Record: fmt.Sprintf("panel:query:%d", i), Expr: q})
	}
	b, err := json.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": rules}}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// dashboardQueries returns the queries of all panels, with the dashboard's variables replaced.
func dashboardQueries(t *testing.T) (queries []string) {
	t.Helper()
	var d struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(read(t, "dashboard.json"), &d); err != nil {
		t.Fatal(err)
	}
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			queries = append(queries, strings.NewReplacer("$cluster", "lab", "$pool", "default").Replace(target.Expr))
		}
	}
	if len(queries) < 10 {
		t.Fatalf("got %d queries, want those of the whole dashboard", len(queries))
	}
	return queries
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(examples, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var (
	usedMetric     = regexp.MustCompile(`\b(?:det_deploy|process|go)_[a-z_]+`)
	exportedMetric = regexp.MustCompile(`(?m)^((?:det_deploy|process|go)_[a-z_]+)[{ ]`)
	describedName  = regexp.MustCompile(`fqName: "([^"]+)"`)
)

// A pool whose launches fail makes the master export every metric, counters of failures included.
func TestExamplesUseMetricsThatExist(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a cluster; run without -short")
	}
	c := clustertest.New(t, clustertest.Config{
		Master: "resource_pools: [{pool_name: elastic, provider: {type: local, max_instances: 1, failure_rate: 1}}]\n",
	})
	c.StartMaster()
	c.Login()
	c.Run("task", "run", "--detach", "--", "true")
	exported := map[string]bool{}
	c.Eventually("a launch failed", time.Minute, func() error {
		for _, m := range exportedMetric.FindAllStringSubmatch(scrape(t, c.URL), -1) {
			exported[m[1]] = true
		}
		if !exported["det_deploy_machine_refusals_total"] {
			return errors.New("no refusal is counted")
		}
		return nil
	})
	for _, name := range podMetrics(t) {
		for _, suffix := range []string{"", "_bucket", "_count", "_sum"} {
			exported[name+suffix] = true
		}
	}
	for _, text := range append(dashboardQueries(t), string(read(t, "rules.yml"))) {
		for _, name := range usedMetric.FindAllString(text, -1) {
			if !exported[name] {
				t.Errorf("%s: no such metric", name)
			}
		}
	}
	page, err := os.ReadFile("../../docs/monitoring.md")
	if err != nil {
		t.Fatal(err)
	}
	for name := range exported {
		family := strings.NewReplacer("_bucket", "", "_count", "", "_sum", "").Replace(name)
		if strings.HasPrefix(name, "det_deploy_") && !strings.Contains(string(page), "`"+family+"`") {
			t.Errorf("docs/monitoring.md lacks %s", family)
		}
	}
}

func scrape(t *testing.T, address string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // it is only read
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("GET /metrics: %s, %v", resp.Status, err)
	}
	return string(b)
}

// podMetrics returns the names of the metrics that a master on Kubernetes exports in addition.
func podMetrics(t *testing.T) (names []string) {
	t.Helper()
	r, err := pods.New(pods.Config{
		Client: fake.NewClientset(), Cluster: "lab", Namespace: "tasks",
		Tasks: struct{ rm.Tasks }{}, Logs: struct{ rm.Logs }{}, Memory: struct{ records.Memory }{},
		Pools: []pods.Pool{{Name: "default"}}, DefaultAux: "default", DefaultCompute: "default",
	})
	if err != nil {
		t.Fatal(err)
	}
	all := make(chan *prometheus.Desc, 100)
	r.Metrics().Describe(all)
	close(all)
	for d := range all {
		names = append(names, describedName.FindStringSubmatch(d.String())[1])
	}
	return names
}
