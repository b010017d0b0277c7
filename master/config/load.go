package config

import (
	"errors"
	"strings"

	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config/provider"
	"github.com/det-deploy/det-deploy/master/config/translate"
)

// Warning reports a setting that is accepted but may not have the expected effect.
type Warning = document.Problem

// Loaded is a configuration with its origin.
type Loaded struct {
	Master   Master
	Warnings []Warning
	// Document has the line, flag or variable of each setting.
	Document *document.Document
}

// Load reads the first existing file and applies flags and environment variables. Without named
// files, it looks in Paths and does not require a file; a named file must exist. If the
// configuration is invalid, it returns document.Errors with all problems.
func Load(files []string, given []document.Given) (Master, []Warning, error) {
	l, err := LoadDocument(files, given)
	return l.Master, l.Warnings, err
}

// LoadDocument is Load for callers that show the origin of settings.
func LoadDocument(files []string, given []document.Given) (Loaded, error) {
	d, err := document.First("master.yaml", files, Paths())
	if err != nil {
		return Loaded{}, adviseSyntax(err)
	}
	return readMaster(d, given)
}

// Parse parses a configuration; name is used in messages.
func Parse(data []byte, name string) (Master, []Warning, error) {
	d, err := document.Parse(data, name)
	if err != nil {
		return Master{}, nil, adviseSyntax(err)
	}
	l, err := readMaster(d, nil)
	return l.Master, l.Warnings, err
}

// LoadGenerated parses a configuration that a program wrote, so that problems have no line numbers,
// and applies flags and environment variables.
func LoadGenerated(data []byte, name string, given []document.Given) (Loaded, error) {
	d, err := document.Parse(data, name)
	if err != nil {
		return Loaded{}, adviseSyntax(err)
	}
	d.ForgetLines()
	return readMaster(d, given)
}

// readMaster translates old forms, applies flags and environment variables, decodes and validates.
func readMaster(d *document.Document, given []document.Given) (Loaded, error) {
	warnings, problems := translate.OldForms(d)
	problems = append(problems, d.Apply(given)...)
	m := DefaultMaster()
	problems = append(problems, d.Decode(&m)...)
	m.fillDefaults(d.Given)
	problems = d.Blame(problems, m.Validate(""))
	m.ConfigFile = d.Name()
	warnings = append(warnings, d.Locate(m.Warnings(d.Given))...)
	return Loaded{Master: m, Warnings: warnings, Document: d}, problems.Err()
}

// adviseSyntax adds a hint about the missing keys above a list that has no key.
func adviseSyntax(err error) error {
	all, ok := errors.AsType[document.Errors](err)
	if !ok {
		return err
	}
	for i := range all {
		if hint := provider.AdviseList(all[i].Orphan); hint != "" {
			all[i].Hint = hint
		}
	}
	return err
}

// LocateInFragment sets the file name and line of problems that a fragment of master.yaml caused
// after it was merged over a generated configuration. A problem about a missing key of a section
// only belongs to the fragment if that contains the section. Other problems are unchanged. It is
// pure.
func LocateInFragment(fragment, name string, problems document.Errors) document.Errors {
	d, err := document.Parse([]byte(fragment), name)
	if fragment == "" || err != nil {
		return problems
	}
	var m Master
	unread := make(map[string]int) // path → line of an unknown setting
	for _, p := range d.Decode(&m) {
		unread[p.Path] = p.Line
	}
	out := make(document.Errors, len(problems))
	for i, p := range problems {
		if nearest, line := d.Nearest(p.Path); nearest != "" && (nearest == p.Path || strings.ContainsAny(nearest, ".[")) {
			p.File, p.Line = name, line
		}
		if line, found := unread[p.Path]; found {
			p.File, p.Line = name, line
		}
		out[i] = p
	}
	return out
}
