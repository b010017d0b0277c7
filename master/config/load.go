package config

import (
	"errors"
	"strings"

	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config/provider"
	"github.com/det-deploy/det-deploy/master/config/translate"
)

// Warning is something that is accepted and does not do what its author may
// expect.
type Warning = document.Problem

// Loaded is a configuration with what is known of its origin.
type Loaded struct {
	Master   Master
	Warnings []Warning
	// Document knows the line, flag or variable of each setting.
	Document *document.Document
}

// Load reads the first of files that exists and puts what was given by flag and
// environment over it. With no files named it looks in Paths and is content with
// none; a file that is named must exist. The error is document.Errors when the
// configuration is wrong, with every complaint.
func Load(files []string, given []document.Given) (Master, []Warning, error) {
	l, err := LoadDocument(files, given)
	return l.Master, l.Warnings, err
}

// LoadDocument is Load for those who show where settings come from.
func LoadDocument(files []string, given []document.Given) (Loaded, error) {
	d, err := document.First("master.yaml", files, Paths())
	if err != nil {
		return Loaded{}, adviseSyntax(err)
	}
	return readMaster(d, given)
}

// Parse reads a configuration from memory; name is used in messages.
func Parse(data []byte, name string) (Master, []Warning, error) {
	d, err := document.Parse(data, name)
	if err != nil {
		return Master{}, nil, adviseSyntax(err)
	}
	l, err := readMaster(d, nil)
	return l.Master, l.Warnings, err
}

// LoadGenerated reads a configuration that a program wrote, so that no line of it
// means anything to anybody; what was given goes over it as over a file.
func LoadGenerated(data []byte, name string, given []document.Given) (Loaded, error) {
	d, err := document.Parse(data, name)
	if err != nil {
		return Loaded{}, adviseSyntax(err)
	}
	d.ForgetLines()
	return readMaster(d, given)
}

// readMaster translates old forms, applies what was given, decodes and validates.
func readMaster(d *document.Document, given []document.Given) (Loaded, error) {
	warnings, problems := translate.OldForms(d)
	problems = append(problems, d.Apply(given)...)
	m := DefaultMaster()
	problems = append(problems, d.Decode(&m)...)
	m.fillDefaults()
	problems = d.Blame(problems, m.Validate(""))
	m.ConfigFile = d.Name()
	warnings = append(warnings, d.Locate(m.Warnings(d.Given))...)
	return Loaded{Master: m, Warnings: warnings, Document: d}, problems.Err()
}

// adviseSyntax says which keys are missing above a list that belongs to none.
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

// LocateInFragment gives those problems with a configuration that a fragment of master.yaml
// caused, which was laid over a generated one, the fragment's name and the line in it. One with
// what a whole section lacks is the fragment's only where that has the section's own setting.
// Others keep what they have. It is pure.
func LocateInFragment(fragment, name string, problems document.Errors) document.Errors {
	d, err := document.Parse([]byte(fragment), name)
	if fragment == "" || err != nil {
		return problems
	}
	var m Master
	unread := make(map[string]int) // path → line of what is no setting
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
