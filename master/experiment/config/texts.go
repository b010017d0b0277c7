package config

import (
	"math"
	"strings"

	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/internal/document/naming"
)

const (
	// maxText limits the size of names and descriptions in bytes, as for commands.
	maxText = 4096
	// maxNotes limits the size of notes in bytes, because they are read and written as a whole.
	maxNotes = 64 << 10
	// mostLabels and maxLabel, in bytes, limit the size of lists of experiments.
	mostLabels = 100
	maxLabel   = 255
)

// Texts are the texts that users can edit. Fields that are nil are not checked.
type Texts struct {
	Name, Description, Notes *string
	Labels                   *[]string
}

// Check returns the errors in the texts.
func (t Texts) Check() document.Errors {
	var e document.Errors
	if t.Name != nil {
		e = append(e, checkText("name", *t.Name)...)
	}
	if t.Description != nil {
		e = append(e, checkText("description", oneLine(*t.Description))...)
	}
	if t.Notes != nil {
		e.Check(len(*t.Notes) <= maxNotes, "notes", "must have at most %d bytes (has %d)", maxNotes, len(*t.Notes))
	}
	if t.Labels != nil {
		e = append(e, checkLabels("labels", *t.Labels)...)
	}
	return e
}

func checkText(at, s string) document.Errors {
	var e document.Errors
	e.Check(len(s) <= maxText && naming.IsPrintable(s), at, "must have at most %d bytes, and %s (is %.64q)", maxText, naming.PrintableRule, s)
	return e
}

func checkLabels(at string, labels []string) document.Errors {
	var e document.Errors
	e.Check(len(labels) <= mostLabels, at, "must have at most %d labels (has %d)", mostLabels, len(labels))
	for i, l := range labels {
		if ok := l != "" && len(l) <= maxLabel && naming.IsPrintable(l); !ok {
			e.Check(false, document.Index(at, i), "must have 1 to %d bytes, and %s (is %.64q)", maxLabel, naming.PrintableRule, l)
			break // one error for all labels
		}
	}
	return e
}

// CheckWeight returns an error if a weight is not positive and finite.
func CheckWeight(at string, w float64) document.Errors {
	var e document.Errors
	e.Check(w > 0 && !math.IsInf(w, 1), at, "must be more than 0 and finite (is %v)", w)
	return e
}

func oneLine(s string) string { return strings.NewReplacer("\n", " ", "\r", " ", "\t", " ").Replace(s) }
