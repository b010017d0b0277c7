// Package config collects the settings of a document that are given by flags and environment variables,
// and lists each setting with its source. Only this package imports viper; documents are decoded elsewhere
// because viper lower-cases their keys and splits them at dots.
package config

import (
	"fmt"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/internal/document"
)

// Declare adds the flag of each override to flags.
func Declare(flags *pflag.FlagSet, table []document.Override) {
	for _, o := range table {
		text := o.Usage
		if o.Env != "" {
			text += " (" + o.Env + ")"
		}
		switch def := o.Default.(type) {
		case int:
			flags.Int(o.Flag, def, text)
		case bool:
			flags.Bool(o.Flag, def, text)
		default:
			declareText(flags, o, text)
		}
	}
}

// declareText adds a flag whose value is validated by the document's decoder.
func declareText(flags *pflag.FlagSet, o document.Override, text string) {
	if !o.Bool {
		flags.String(o.Flag, "", text)
		if len(o.Values) > 0 {
			usage.SetWords(flags, o.Flag, o.Values)
		}
		return
	}
	flags.Var(new(truth), o.Flag, text)
	flags.Lookup(o.Flag).NoOptDefVal = "true"
}

// Given returns the given settings. A flag takes precedence over a variable, and an empty variable counts
// as not set. A command may declare only some of the flags. Given returns a document.Errors if a secret
// itself is given on the command line.
func Given(flags *pflag.FlagSet, table []document.Override) ([]document.Given, error) {
	v := viper.New()
	var out []document.Given
	var problems document.Errors
	for i, o := range table {
		key := fmt.Sprintf("setting%d", i) // viper would split a path
		flag := flags.Lookup(o.Flag)
		changed := flag != nil && flag.Changed
		if changed { // viper reads an unset boolean flag as false
			if err := v.BindPFlag(key, flag); err != nil {
				return nil, fmt.Errorf("cannot read flag --%s: %w", o.Flag, err)
			}
		}
		if o.Env != "" {
			if err := v.BindEnv(key, o.Env); err != nil {
				return nil, fmt.Errorf("cannot read variable %s: %w", o.Env, err)
			}
		}
		g := document.Given{Path: o.Path, Value: v.GetString(key), Source: o.Env}
		if changed {
			g.Source = "--" + o.Flag
			if o.Reference && isSpelledOut(g.Value) {
				problems = append(problems, spelledOut(g.Source, o.Env))
			}
		}
		if changed || g.Value != "" {
			out = append(out, g)
		}
	}
	return out, problems.Err()
}

// Files returns the path given by --config-file or else by DET_CONFIG_FILE. It returns nil if neither is
// set.
func Files(flag string, getenv func(string) string) []string {
	if flag == "" {
		flag = getenv("DET_CONFIG_FILE")
	}
	if flag == "" {
		return nil
	}
	return []string{flag}
}

// spelledOut returns the problem of a secret on the command line.
func spelledOut(flag, env string) document.Problem {
	p := document.Problem{
		File: flag, Text: "must not be the secret itself, because other users of this machine can read command lines",
		Hint: "use file:/path or env:NAME",
	}
	if env != "" {
		p.Hint += ", or set " + env
	}
	return p
}

// isSpelledOut reports whether a value is a secret itself instead of a reference.
func isSpelledOut(value string) bool {
	parsed, err := secret.Parse(value)
	return err == nil && parsed.Reveal() != ""
}

// Settings lists the settings of a decoded configuration with their sources: a flag, a variable, a line of
// the file, or "default". Secrets are masked.
func Settings(configuration any, from *document.Document) []document.Setting {
	settings := document.Settings(configuration)
	for i, s := range settings {
		if settings[i].Source = from.Source(s.Path); settings[i].Source == "" {
			settings[i].Source = "default"
		}
	}
	return settings
}
