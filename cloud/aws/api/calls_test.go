package api_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cloud/aws/api"
)

// prefix is a service as policies call it, by the SDK's package.
var prefix = map[string]string{
	"ec2": "ec2", "iam": "iam", "sts": "sts", "s3": "s3", "secretsmanager": "secretsmanager", "ssm": "ssm",
	"servicequotas": "servicequotas", "cloudwatchlogs": "logs", "cloudwatch": "cloudwatch",
}

func TestTheTableHasEveryCallAndNoOther(t *testing.T) {
	t.Parallel()
	var got, want []string
	for _, c := range api.Calls() {
		got = append(got, c.Op)
	}
	for _, s := range services() {
		_, name := pkg(s.Type)
		for m := range s.Type.Methods() {
			want = append(want, prefix[name]+":"+m.Name)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("table -, interfaces +:\n%s", d)
	}
}

func TestCallsThatLookAreNamedSo(t *testing.T) {
	t.Parallel()
	looking := []string{"Describe", "Get", "List", "Head", "Filter", "Simulate"}
	for _, c := range api.Calls() {
		_, name, _ := strings.Cut(c.Op, ":")
		looks := slices.ContainsFunc(looking, func(p string) bool { return strings.HasPrefix(name, p) })
		if c.Changes == looks {
			t.Errorf("%s: got changes %t, want %t", c.Op, c.Changes, !looks)
		}
	}
}

func TestAnUnknownCallIsNotFound(t *testing.T) {
	t.Parallel()
	if c, found := api.Find("ec2:BuyEverything"); found {
		t.Errorf("got %+v, want none", c)
	}
}

func TestHintsNameKnownCommands(t *testing.T) {
	t.Parallel()
	known := []string{"det-deploy aws policy", "det-deploy aws doctor"}
	flags := []string{"--region", "--profile", "--cluster-id"}
	for _, fix := range api.Fixes() {
		for i, part := range strings.Split(fix, "`") {
			if i%2 == 1 && !slices.Contains(known, part) {
				t.Errorf("%q: got a command %q that is not known", fix, part)
			}
		}
		for _, word := range strings.Fields(fix) {
			word = strings.Trim(word, ",:.")
			if strings.HasPrefix(word, "--") && !slices.Contains(flags, word) {
				t.Errorf("%q: got a flag %q that is not known", fix, word)
			}
		}
	}
}
