package cmd_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/cmd"
	"github.com/det-deploy/det-deploy/cmd/internal/exit"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
)

// refusal returns the error of an invalid command line.
func refusal(t *testing.T, line string) error {
	t.Helper()
	s, _, _ := term.Test("", false)
	root := cmd.New(s)
	root.SetArgs(strings.Fields(line))
	return root.ExecuteContext(t.Context())
}

func TestUnknownFlagSuggestsSimilarFlag(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"aws up --keypair k":                         "unknown flag: --keypair, did you mean --key-pair?",
		"aws up --key_pair k":                        "did you mean --key-pair?",
		"aws up --compute-agent-instance-type t":     "did you mean --instance-type?",
		"aws up --aux-agent-instance-type t":         "did you mean --aux-instance-type?",
		"aws down --cluster lab":                     "did you mean --cluster-id?",
		"aws up --clusterid lab":                     "did you mean --cluster-id?",
		"k8s install --value f":                      "did you mean --values?",
		"k8s install --name-space n":                 "did you mean --namespace?",
		"local up --agent 2":                         "did you mean --agents?",
		"task run --slot 1 -- echo":                  "did you mean --slots?",
		"master run --configfile f":                  "did you mean --config-file?",
		"agent run --masterhost h":                   "did you mean --master-host?",
		"version --outptu json":                      "did you mean --output?",
		"status --clusterid lab":                     "did you mean --cluster-id?",
		"aws up --nothing-that-is-alike-at-all":      "unknown flag: --nothing-that-is-alike-at-all",
		"local up --agents x":                        `--agents: must be a whole number (is "x")`,
		"k8s install --cluster-id lab --timeout day": `--timeout: must be a duration such as 90s, 10m or 2h (is "day")`,
	} {
		err := refusal(t, line)
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: got %v, want it to end in %q", line, err, want)
		}
		if exit.Of(err) != exit.Usage && exit.Of(err) != exit.NotTheTask {
			t.Errorf("%s: got code %d, want that of a wrong command line", line, exit.Of(err))
		}
	}
}

// An invalid value is a usage error, independent of the package that validates it.
func TestInvalidFlagValueIsUsageError(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"master run --port 99999":                                     "--port: port: must be between 0 and 65535 (is 99999)",
		"master run --log-level loud":                                 "--log-level",
		"master run --db-url postgres://u:p@h/d":                      "--db-url: must not be the secret itself",
		"agent run --master-host h --master-port 99999":               "--master-port",
		"agent run --master-host h --artificial-slots -1":             "--artificial-slots",
		"k8s template --cluster-id lab --set foo=bar":                 "foo: there is no such value",
		"k8s template --cluster-id lab --set-json x={":                "--set-json number 1 cannot be read",
		"aws plan --cluster-id lab --region nowhere":                  "--region: must be an AWS region",
		"aws status --cluster-id lab --region nowhere":                "--region: must be an AWS region",
		"local up --dry-run --yes":                                    "use either --dry-run or --yes",
		"k8s uninstall --cluster-id lab --dry-run --yes":              "use either --dry-run or --yes",
		"aws policy --region nowhere":                                 "--region: must be an AWS region",
		"aws list --region nowhere":                                   "--region: must be an AWS region",
		"aws plan --cluster-id lab --region us-west-2 --db-url p://x": "--db-url: must not be the secret itself",
	} {
		err := refusal(t, line)
		if err == nil || !strings.Contains(err.Error(), want) || exit.Of(err) != exit.Usage {
			t.Errorf("%s: got code %d and %v, want a wrong command line with %q", line, exit.Of(err), err, want)
		}
	}
}

// Every flag is suggested if one of its letters is doubled.
func TestEveryFlagIsSuggestedAfterTypo(t *testing.T) {
	t.Parallel()
	for _, c := range tree(t) {
		if !c.Runnable() || c.HasSubCommands() || c.DisableFlagParsing {
			continue
		}
		for _, name := range flagsOf(c) {
			wrong := name + name[len(name)-1:]
			if c.Flags().Lookup(wrong) != nil {
				continue
			}
			err := c.FlagErrorFunc()(c, c.ParseFlags([]string{"--" + wrong}))
			if _, ok := errors.AsType[*usage.Error](err); !ok || !strings.Contains(err.Error(), "--"+name) {
				t.Errorf("%s --%s: got %v, want it to name --%s", c.CommandPath(), wrong, err, name)
			}
		}
	}
}

func flagsOf(c *cobra.Command) []string {
	var out []string
	for _, line := range strings.Split(c.Flags().FlagUsages(), "\n") {
		_, flag, ok := strings.Cut(line, "--")
		if ok {
			name, _, _ := strings.Cut(flag, " ")
			out = append(out, strings.TrimRight(strings.Split(name, "[")[0], " "))
		}
	}
	return out
}

func TestUnknownCommandSuggestsOnlyNearOnes(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"task lst":     `unknown command "lst" for "det-deploy task", did you mean list?`,
		"modell":       `unknown command "modell" for "det-deploy", did you mean model?`,
		"task lits":    `unknown command "lits" for "det-deploy task", did you mean list?`,
		"workspce":     "did you mean workspace?",
		"exper":        "did you mean experiment?",
		"xy":           `unknown command "xy" for "det-deploy"`,
		"task inspect": `unknown command "inspect" for "det-deploy task"`,
	} {
		if err := refusal(t, line); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: got %v, want it to end in %q", line, err, want)
		}
	}
}
