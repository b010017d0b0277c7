// Package config collects what a user gave by flag and by environment, for the
// settings of a document that can be given so, and shows each setting with its
// source. It alone knows viper; documents are decoded elsewhere, because viper
// lower-cases their keys and splits them at dots.
package config

import (
	"fmt"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/internal/document"
)

// Declare adds the flag of each override to flags.
func Declare(flags *pflag.FlagSet, table []document.Override) {
	for _, o := range table {
		usage := o.Usage
		if o.Env != "" {
			usage += " (" + o.Env + ")"
		}
		switch def := o.Default.(type) {
		case int:
			flags.Int(o.Flag, def, usage)
		case bool:
			flags.Bool(o.Flag, def, usage)
		default:
			declareText(flags, o, usage)
		}
	}
}

// declareText adds a flag whose value the document's decoder judges.
func declareText(flags *pflag.FlagSet, o document.Override, usage string) {
	if !o.Bool {
		flags.String(o.Flag, "", usage)
		return
	}
	flags.Var(new(truth), o.Flag, usage)
	flags.Lookup(o.Flag).NoOptDefVal = "true"
}

// Given is what the user gave, a flag winning over a variable; an empty variable
// counts as not given. A command need not have a flag of every override. The error is
// document.Errors when a secret itself stands on the command line.
func Given(flags *pflag.FlagSet, table []document.Override) ([]document.Given, error) {
	v := viper.New()
	var out []document.Given
	var problems document.Errors
	for i, o := range table {
		key := fmt.Sprintf("setting%d", i) // viper would take a path apart
		flag := flags.Lookup(o.Flag)
		changed := flag != nil && flag.Changed
		if changed { // viper takes a boolean that was not given for false
			if err := v.BindPFlag(key, flag); err != nil {
				return nil, fmt.Errorf("read flag --%s: %w", o.Flag, err)
			}
		}
		if o.Env != "" {
			if err := v.BindEnv(key, o.Env); err != nil {
				return nil, fmt.Errorf("read variable %s: %w", o.Env, err)
			}
		}
		g := document.Given{Path: o.Path, Value: v.GetString(key), Source: o.Env}
		if changed {
			g.Source = "--" + o.Flag
			if o.Reference && isSpelledOut(g.Value) {
				problems = append(problems, document.Problem{
					File: g.Source, Text: "must not be the secret itself, which other users of this machine could read",
					Hint: "give file:/path or env:NAME, or set " + o.Env,
				})
			}
		}
		if changed || g.Value != "" {
			out = append(out, g)
		}
	}
	return out, problems.Err()
}

// Files is the document that a user named by --config-file, else by
// DET_CONFIG_FILE; empty when neither did.
func Files(flag string, getenv func(string) string) []string {
	if flag == "" {
		flag = getenv("DET_CONFIG_FILE")
	}
	if flag == "" {
		return nil
	}
	return []string{flag}
}

// isSpelledOut reports whether a value is a secret rather than a reference to one.
func isSpelledOut(value string) bool {
	parsed, err := secret.Parse(value)
	return err == nil && parsed.Reveal() != ""
}

// Settings lists every setting of a decoded configuration with where it came
// from: a flag, a variable, a line of the file, or "default". Secrets are masked.
func Settings(configuration any, from *document.Document) []document.Setting {
	settings := document.Settings(configuration)
	for i, s := range settings {
		if settings[i].Source = from.Source(s.Path); settings[i].Source == "" {
			settings[i].Source = "default"
		}
	}
	return settings
}
