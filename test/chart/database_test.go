package chart_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// claimsOf returns the claim that the chart creates for PostgreSQL, its snapshot, and the claim
// that PostgreSQL mounts, or empty names.
func claimsOf(t *testing.T, values string) (made, from, mounted string) {
	t.Helper()
	files, err := render(t, release{name: "lab", namespace: "ml", values: parse(t, values)})
	if err != nil {
		t.Fatal(err)
	}
	var claim struct {
		Metadata struct {
			Name string `yaml:"name"`
		} `yaml:"metadata"`
		Spec struct {
			DataSource struct {
				Name string `yaml:"name"`
			} `yaml:"dataSource"`
		} `yaml:"spec"`
	}
	if err := yaml.Unmarshal([]byte(files["determined/templates/claim.yaml"]), &claim); err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(files["determined/templates/database.yaml"], "claimName: ")
	mounted, _, _ = strings.Cut(rest, "}")
	return claim.Metadata.Name, claim.Spec.DataSource.Name, strings.Trim(mounted, `"`)
}

// The suffixes work as in the chart of Determined 0.38.1: claimSuffix names an existing claim, and
// a snapshot is restored to a claim with its own suffix.
func TestClaimSuffixesKeepTheirMeaning(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, db, made, from, mounted string }{
		{"none", `{}`, "determined-db-pvc-lab", "", "determined-db-pvc-lab"},
		{"a claim that is there", `{claimSuffix: old}`, "", "", "determined-db-pvc-old"},
		{"a snapshot", `{restoreSnapshotSuffix: monday}`, "determined-db-pvc-monday", "determined-db-snapshot-monday", "determined-db-pvc-monday"},
		{"a snapshot and its claim", `{restoreSnapshotSuffix: monday, claimSuffix: monday}`, "determined-db-pvc-monday", "determined-db-snapshot-monday", "determined-db-pvc-monday"},
		{"after it was restored", `{claimSuffix: monday}`, "", "", "determined-db-pvc-monday"},
		{"any claim", `{existingClaim: mine}`, "", "", "mine"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			made, from, mounted := claimsOf(t, `{maxSlotsPerPod: 1, db: `+tt.db+`}`)
			if d := cmp.Diff([]string{made, from, mounted}, []string{tt.made, tt.from, tt.mounted}); d != "" {
				t.Errorf("made, from, mounted: got -, want +:\n%s", d)
			}
		})
	}
}

// An upgrade of det-deploy must not restart PostgreSQL.
func TestTheDatabaseIsTheSameInEveryVersion(t *testing.T) {
	t.Parallel()
	pod := func(given string) string {
		files, err := render(t, release{name: "lab", namespace: "ml", values: parse(t, `{`+given+`}`)})
		if err != nil {
			t.Fatal(err)
		}
		_, template, _ := strings.Cut(files["determined/templates/database.yaml"], "  template:")
		template, _, found := strings.Cut(template, "\n---")
		if !found || !strings.Contains(template, "POSTGRES_PASSWORD") {
			t.Fatalf("got %s, want PostgreSQL's pod", template)
		}
		return template
	}
	if d := cmp.Diff(pod("maxSlotsPerPod: 2, image: {tag: v8}"), pod("maxSlotsPerPod: 4, image: {tag: v9}, masterPort: 9090, imageRegistry: elsewhere.example.com")); d != "" {
		t.Errorf("PostgreSQL's pod differs between versions:\n%s", d)
	}
	if strings.Contains(pod("maxSlotsPerPod: 1"), version) {
		t.Errorf("got version %s in PostgreSQL's pod", version)
	}
}

// Before an upgrade the new image runs once, with the pod settings of the master.
func TestImageIsTestedBeforeUpgrade(t *testing.T) {
	t.Parallel()
	values := `{maxSlotsPerPod: 1, imageRegistry: r.example.com, image: {tag: v9}, imagePullSecretName: pull, master: {nodeSelector: {pool: system}}`
	names := map[string]bool{}
	for _, more := range []string{"}", ", masterCpuLimit: 2}"} {
		files, err := render(t, release{name: "lab", namespace: "ml", values: parse(t, values+more)})
		if err != nil {
			t.Fatal(err)
		}
		job := files["determined/templates/check.yaml"]
		for _, want := range []string{"helm.sh/hook: pre-upgrade\n", `image: "r.example.com/det-deploy:v9"`, `imagePullSecrets: [{name: "pull"}]`, `"pool": "system"`, "args: [master, config, validate, --chart-values,", "secretName: determined-check-lab}"} {
			if !strings.Contains(job, want) {
				t.Errorf("got %s\nwant %s in it", job, want)
			}
		}
		_, rest, _ := strings.Cut(job, "name: determined-image-lab-")
		name, _, _ := strings.Cut(rest, "\n")
		names[name] = true
	}
	if len(names) != 2 {
		t.Errorf("got names %v, want another one for another pod: a Job cannot change", names)
	}
}
