package config

import "github.com/det-deploy/det-deploy/internal/document"

// Entrypoint is what each trial runs: a line for the shell, or a program with its arguments. The
// harness tells a line from a list of one, so that which of them was written is kept.
type Entrypoint struct {
	Line string
	Args []string
}

// UnmarshalDocument reads a text or a list.
func (p *Entrypoint) UnmarshalDocument(v document.Value) {
	if v.IsList() {
		v.Decode(&p.Args)
		return
	}
	v.Decode(&p.Line)
}

// MarshalDocument writes what was read.
func (p Entrypoint) MarshalDocument() any {
	if p.Args != nil {
		return p.Args
	}
	return p.Line
}

// DocumentShape names the written form.
func (Entrypoint) DocumentShape() string { return "text, or list of text" }

// IsEmpty says that there is nothing to run.
func (p *Entrypoint) IsEmpty() bool { return p == nil || p.Line == "" && len(p.Args) == 0 }
