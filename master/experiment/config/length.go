package config

import (
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/internal/document"
)

// Length is an amount of training.
type Length struct {
	Unit  string
	Units int
}

// units are the supported units of a length.
func units() []string { return []string{"batches", "records", "epochs"} }

type lengthObject struct {
	Batches *int `yaml:"batches"`
	Records *int `yaml:"records"`
	Epochs  *int `yaml:"epochs"`
}

// UnmarshalDocument reads {unit: number}.
func (l *Length) UnmarshalDocument(v document.Value) {
	if v.IsNumber() {
		v.Complain("has no unit", "a number counted steps in earlier releases, by default of 100 batches; write {batches: number}")
		return
	}
	var o lengthObject
	if !v.Decode(&o) {
		return
	}
	given := 0
	for i, n := range []*int{o.Batches, o.Records, o.Epochs} {
		if n != nil {
			*l = Length{Unit: units()[i], Units: *n}
			given++
		}
	}
	if given != 1 {
		v.Complain("must have exactly one of "+strings.Join(units(), ", "), "as in {batches: 100}")
	}
}

// MarshalDocument returns the mapping.
func (l Length) MarshalDocument() any { return map[string]int{l.Unit: l.Units} }

// DocumentShape describes the accepted form.
func (Length) DocumentShape() string { return "{batches, records or epochs: number}" }

// MaxLength is a length whose unit is optional, because programs of the Core API choose their unit.
type MaxLength Length

// UnmarshalDocument reads {unit: number}, or a number.
func (l *MaxLength) UnmarshalDocument(v document.Value) {
	if v.IsNumber() {
		v.Decode(&l.Units)
		return
	}
	(*Length)(l).UnmarshalDocument(v)
}

// MarshalDocument returns the value in the submitted form.
func (l MaxLength) MarshalDocument() any {
	if l.Unit == "" {
		return l.Units
	}
	return Length(l)
}

// DocumentShape describes the accepted forms.
func (MaxLength) DocumentShape() string { return "{batches, records or epochs: number}, or a number" }

func (l *MaxLength) validate(at string) document.Errors {
	if l != nil && l.Unit == "" {
		var e document.Errors
		e.Check(l.Units >= 1, at, "must be at least 1 (is %d)", l.Units)
		return e
	}
	return (*Length)(l).validate(at, 1)
}

func (l *Length) validate(at string, least int) document.Errors {
	var e document.Errors
	if l == nil || !slices.Contains(units(), l.Unit) {
		return nil
	}
	e.Check(l.Units >= least, document.Join(at, l.Unit), "must be at least %d (is %d)", least, l.Units)
	return e
}
