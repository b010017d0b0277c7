package config

import (
	"math"
	"strings"

	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/internal/document/naming"
)

const (
	// maxText bounds names and descriptions in bytes, as those of commands.
	maxText = 4096
	// maxNotes bounds notes in bytes; they are written and read whole.
	maxNotes = 64 << 10
	// mostLabels and maxLabel, in bytes each, bound what lists show.
	mostLabels = 100
	maxLabel   = 255
)

// Texts is what people write about an experiment. What is nil is not checked.
type Texts struct {
	Name, Description, Notes *string
	Labels                   *[]string
}

// Check says what is wrong with them.
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
	e.Check(len(labels) <= mostLabels, at, "at most %d are kept (there are %d)", mostLabels, len(labels))
	for i, l := range labels {
		if ok := l != "" && len(l) <= maxLabel && naming.IsPrintable(l); !ok {
			e.Check(false, document.Index(at, i), "must have 1 to %d bytes, and %s (is %.64q)", maxLabel, naming.PrintableRule, l)
			break // one says it for all
		}
	}
	return e
}

// CheckWeight says what is wrong with a weight.
func CheckWeight(at string, w float64) document.Errors {
	var e document.Errors
	e.Check(w > 0 && !math.IsInf(w, 1), at, "must be more than 0 and finite (is %v)", w)
	return e
}

func oneLine(s string) string { return strings.NewReplacer("\n", " ", "\r", " ", "\t", " ").Replace(s) }
