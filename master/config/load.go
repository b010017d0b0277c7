package config

import (
	"errors"

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
