package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/cmd/internal/config"
	"github.com/det-deploy/det-deploy/internal/document"
	master "github.com/det-deploy/det-deploy/master/config"
)

func parse(t *testing.T, args ...string) ([]document.Given, error) {
	t.Helper()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	config.Declare(flags, master.Overrides())
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return config.Given(flags, master.Overrides())
}

// Not parallel: it sets environment variables.
func TestFlagOverridesVariable(t *testing.T) {
	t.Setenv("DET_PORT", "1111")
	t.Setenv("DET_DB_HOST", "db.example")
	t.Setenv("DET_DB_NAME", "")
	got, err := parse(t, "--port", "2222", "--enable-cors", "--launch-error=false")
	if err != nil {
		t.Fatal(err)
	}
	want := []document.Given{
		{Path: "port", Value: "2222", Source: "--port"},
		{Path: "db.host", Value: "db.example", Source: "DET_DB_HOST"},
		{Path: "enable_cors", Value: "true", Source: "--enable-cors"},
		{Path: "launch_error", Value: "false", Source: "--launch-error"},
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("given (-got +want):\n%s", diff)
	}
}

// Not parallel: it sets environment variables.
func TestSettingWithoutFlagIsReadFromVariable(t *testing.T) {
	t.Setenv("DET_PORT", "9000")
	table := []document.Override{{Path: "port", Flag: "port", Env: "DET_PORT"}}
	got, err := config.Given(pflag.NewFlagSet("test", pflag.ContinueOnError), table)
	if want := []document.Given{{Path: "port", Value: "9000", Source: "DET_PORT"}}; err != nil || !cmp.Equal(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

func TestSecretsAreRejectedOnCommandLine(t *testing.T) {
	t.Setenv("DET_DB_PASSWORD", "in the environment")
	if _, err := parse(t); err != nil {
		t.Errorf("a variable: got %v", err)
	}
	if _, err := parse(t, "--db-password", "file:/run/secret"); err != nil {
		t.Errorf("a reference: got %v", err)
	}
	_, err := parse(t, "--db-password", "hunter2")
	if err == nil || !strings.Contains(err.Error(), "--db-password: must not be the secret itself") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a secret: got %v", err)
	}
}

func TestSettingsNameTheirSource(t *testing.T) {
	t.Parallel()
	d, err := document.Parse([]byte("log:\n  level: debug\ncluster_name: lab\n"), "master.yaml")
	if err != nil {
		t.Fatal(err)
	}
	problems := d.Apply([]document.Given{{Path: "port", Value: "9999", Source: "--port"}, {Path: "db.password", Value: "hunter2", Source: "DET_DB_PASSWORD"}})
	m := master.DefaultMaster()
	if problems = append(problems, d.Decode(&m)...); len(problems) > 0 {
		t.Fatal(problems)
	}
	got := map[string]document.Setting{}
	for _, s := range config.Settings(m, d) {
		got[s.Path] = s
	}
	for _, want := range []document.Setting{
		{Path: "log.level", Value: "debug", Source: "master.yaml:2"},
		{Path: "port", Value: "9999", Source: "--port"},
		{Path: "db.password", Value: "********", Source: "DET_DB_PASSWORD"},
		{Path: "data_dir", Value: "/var/lib/determined", Source: "default"},
	} {
		if got[want.Path] != want {
			t.Errorf("got %+v, want %+v", got[want.Path], want)
		}
	}
}
